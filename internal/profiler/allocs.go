package profiler

import (
	"strings"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/internal/funcwatch"
)

// sizes returns, for functions that allocate, how many bytes they are asked for.
var sizes = map[string]func(r *[16]uint64) uint64{
	"malloc":         func(r *[16]uint64) uint64 { return r[emu.RDI] },
	"valloc":         func(r *[16]uint64) uint64 { return r[emu.RDI] },
	"pvalloc":        func(r *[16]uint64) uint64 { return r[emu.RDI] },
	"calloc":         func(r *[16]uint64) uint64 { return r[emu.RDI] * r[emu.RSI] },
	"realloc":        func(r *[16]uint64) uint64 { return r[emu.RSI] },
	"reallocarray":   func(r *[16]uint64) uint64 { return r[emu.RSI] * r[emu.RDX] },
	"posix_memalign": func(r *[16]uint64) uint64 { return r[emu.RDX] },
	"aligned_alloc":  func(r *[16]uint64) uint64 { return r[emu.RSI] },
	"memalign":       func(r *[16]uint64) uint64 { return r[emu.RSI] },
}

// Operators new and delete, and those of arrays, begin so (Itanium C++ ABI, "Operator Encodings").
const (
	mangledNew     = "_Znwm"
	mangledNews    = "_Znam"
	mangledDelete  = "_ZdlPv"
	mangledDeletes = "_ZdaPv"
)

// allocSize returns the function that tells what a function of that name is asked for.
func allocSize(symbol string) func(r *[16]uint64) uint64 {
	if strings.HasPrefix(symbol, mangledNew) || strings.HasPrefix(symbol, mangledNews) {
		return sizes["malloc"]
	}
	return sizes[symbol]
}

// frees reports whether a function of that name frees memory.
func frees(symbol string) bool {
	return symbol == "free" || strings.HasPrefix(symbol, mangledDelete) || strings.HasPrefix(symbol, mangledDeletes)
}

// allocationProbe watches functions that allocate and free. What they call themselves does not count: operator
// new calls malloc. The cost goes to the call.
func (p *Profiler) allocationProbe() *funcwatch.Probe {
	return &funcwatch.Probe{
		Match: func(f *funcwatch.Function) bool { return frees(f.Symbol) || allocSize(f.Symbol) != nil },
		Entered: func(_ *funcwatch.Probe, e funcwatch.Entry) {
			if p.watch.In(e.CPU, funcwatch.Allocates) || !e.Push(funcwatch.Allocates) || p.now != emu.CountAll {
				return
			}
			call := e.Return() - 1
			if size := allocSize(e.Symbol); size != nil {
				p.countCall(e.CPU, call, evAllocs, 1)
				p.countCall(e.CPU, call, evAllocBytes, size(&e.CPU.Regs))
			} else {
				p.countCall(e.CPU, call, evFrees, 1)
			}
		},
	}
}
