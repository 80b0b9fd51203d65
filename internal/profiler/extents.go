package profiler

import (
	"bytes"
	"encoding/binary"
)

// An extent is addresses of an object, [lo, hi), that are one function to a call graph: a function with a name, or code
// without one.
type extent struct {
	lo, hi uint64
	// code is 0 for a function with a name.
	code  codeKind
	flags extentFlags
}

// A codeKind is a kind of code without a name. As the ID of a function it is added to the address where an object
// begins, which is that of a page. Code in no object has such an ID, too.
type codeKind uint16

const (
	unnamedCode codeKind = 1 + iota
	linkageCode
	noObject
	// linkerCode is the part of a procedure linkage table that enters the dynamic linker, which has another name than
	// the entries in front of it.
	linkerCode
)

// extentFlags are what emu.Function says of a function.
type extentFlags uint16

const (
	passes extentFlags = 1 << iota
	parks
	resumes
)

// named reports whether the function has a name.
func (x extent) named() bool { return x.code == 0 }

// id returns what, added to the address where the object begins, tells the function from all others.
func (x extent) id() uint64 {
	if x.named() {
		return x.lo
	}
	return uint64(x.code)
}

// goScheduler are the functions of Go's runtime that change from one goroutine to another, by name
// (runtime/asm_amd64.s).
var goScheduler = map[string]extentFlags{"runtime.mcall": parks, "runtime.morestack": parks, "gogo": resumes, "runtime.gogo": resumes}

// extentOf returns the extent of the function that holds an address. linkage says that entries of procedure linkage
// tables have names.
func (o *object) extentOf(va uint64, linkage bool) extent {
	if o.names != nil {
		if x, ok := o.names.extent(va); ok {
			return x
		}
	}
	x := o.readExtent(va, linkage)
	if o.names != nil {
		o.names.extents[x.lo] = x
	}
	return x
}

// readExtent reads it from the object's symbols.
func (o *object) readExtent(va uint64, linkage bool) extent {
	if symbol, lo, hi, ok := o.Func(va); ok {
		x := extent{lo: lo, hi: hi}
		if bytes.HasPrefix(symbol, []byte("_dl_runtime_resolve")) {
			x.flags = passes
		}
		if f := goScheduler[string(bytes.TrimSuffix(symbol, []byte(".abi0")))]; f != 0 && o.HasGoroutines() {
			x.flags |= f
		}
		return x
	}
	lo, hi, linked := o.Unnamed(va)
	switch {
	case !linked:
		return extent{lo, hi, unnamedCode, 0}
	case !linkage:
		return extent{lo, hi, linkageCode, passes}
	case o.LinkageName(va) == "":
		return extent{va, va + 1, linkerCode, passes}
	}
	return extent{va, va + 1, linkageCode, passes}
}

// An extent is kept as lo, hi, code and flags, in the order of addresses.
const keptExtent = 8 + 8 + 2 + 2

// extent returns the extent of the function that holds an address, if it was kept.
func (n *keptNames) extent(va uint64) (x extent, ok bool) {
	i := seek(n.functions, keptExtent, n.function, va)
	if i < 0 {
		return x, false
	}
	n.function = i
	x = extentAt(n.functions[i*keptExtent:])
	return x, va < x.hi
}

func extentAt(r []byte) extent {
	le := binary.LittleEndian
	return extent{le.Uint64(r), le.Uint64(r[8:]), codeKind(le.Uint16(r[16:])), extentFlags(le.Uint16(r[18:]))}
}

// appendExtent adds x to those that are kept.
func appendExtent(b []byte, x extent) []byte {
	le := binary.LittleEndian
	return le.AppendUint16(le.AppendUint16(le.AppendUint64(le.AppendUint64(b, x.lo), x.hi), uint16(x.code)), uint16(x.flags))
}
