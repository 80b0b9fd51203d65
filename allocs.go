package cgemu

import (
	"strings"

	"github.com/cgemu/cgemu/emu"
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

// allocations watches functions that allocate and free. What they call themselves does not count: operator
// new calls malloc. The cost goes to the call.
func allocations(c *counted) *interest {
	return &interest{
		match: func(f *function) bool { return frees(f.symbol) || allocSize(f.symbol) != nil },
		entered: func(_ *interest, e entry) {
			if e.w.allocating(e.cpu) || !e.w.enter(e, frame{}) || c.now != emu.CountAll {
				return
			}
			call := e.ret() - 1
			if size := allocSize(e.symbol); size != nil {
				c.count(call, evAllocs, 1)
				c.count(call, evAllocBytes, size(&e.cpu.Regs))
			} else {
				c.count(call, evFrees, 1)
			}
		},
	}
}

// allocating reports whether cpu's thread is in a function that allocates or frees.
func (w *watch) allocating(cpu *emu.CPU) bool {
	if act := w.threads[cpu]; act != nil {
		for _, f := range act.frames {
			if !f.toggles {
				return true
			}
		}
	}
	return false
}
