package sem

import (
	"maps"
	"slices"
	"sync"

	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/x86"
)

// A row is the semantics of an operation.
type row struct {
	// emulated are those of its instructions of kind Emulated, plain those of others, which an engine may leave to a
	// CPU.
	emulated, plain semantics
	// evex are those of its instructions with an EVEX prefix.
	evex semantics
	// words is what the plain ones do to each 64-bit word of two vectors, where that is all they do.
	words func(a, b uint64) uint64
	// fallback says which of the plain ones emu/unicorn does not leave to its CPU; nil for none.
	fallback func(g *guest.Insn) bool
}

// rows are a part of the table.
type rows map[x86.Op]row

// anyForm and locked are conditions of fallback.
func anyForm(*guest.Insn) bool  { return true }
func locked(g *guest.Insn) bool { return g.Lock }

// A part is one of the table: rows, or parts that are joined.
type part interface{ all() []rows }

func (r rows) all() []rows { return []rows{r} }

type parts []rows

func (p parts) all() []rows { return p }

// join makes one part of several.
func join(list ...part) (joined parts) {
	for _, p := range list {
		joined = append(joined, p.all()...)
	}
	return joined
}

// table has what is executed in Go, by operation. It is made when it is first looked at: programs whose code the CPU
// executes do without.
var table = sync.OnceValue(func() []row {
	all := merged(join(systemRows(), arithRows(), shiftRows(), multiplyRows(), bitRows(), moveRows(), simdRows(), floatRows(), x87Rows(), maskRows(), evexRows()))
	t := make([]row, slices.Max(slices.Collect(maps.Keys(all)))+1)
	for op, r := range all {
		t[op] = r
	}
	return t
})

// system has the emulated semantics of systemRows, by operation: most programs execute nothing else in Go, and do
// without the rest of the table.
var system = sync.OnceValue(func() []semantics {
	rows := systemRows()
	t := make([]semantics, slices.Max(slices.Collect(maps.Keys(rows)))+1)
	for op, r := range rows {
		t[op] = r.emulated
	}
	return t
})

// rowOf returns the row of op, an empty one if it has none.
func rowOf(op x86.Op) *row {
	if t := table(); int(op) < len(t) {
		return &t[op]
	}
	return &row{}
}

// merged makes one table of parts: a row of one may be completed by another.
func merged(list parts) rows {
	all := rows{}
	for _, part := range list {
		for op, r := range part {
			have := all[op]
			if have.emulated != nil && r.emulated != nil || have.plain != nil && r.plain != nil || have.evex != nil && r.evex != nil {
				panic("BUG: two rows of " + op.String())
			}
			if r.emulated == nil {
				r.emulated = have.emulated
			}
			if r.plain == nil {
				r.plain, r.words, r.fallback = have.plain, have.words, have.fallback
			}
			if r.evex == nil {
				r.evex = have.evex
			}
			all[op] = r
		}
	}
	return all
}

// systemRows have what all engines emulate, or some forms of it: such an instruction has kind guest.Emulated, and there
// is a row for each of them, which TestTable checks.
func systemRows() rows {
	return rows{
		// What a program may ask of its CPU.
		x86.CPUID: {emulated: (*Machine).cpuid}, x86.XGETBV: {emulated: (*Machine).xgetbv}, x86.RDPID: {emulated: (*Machine).rdpid},
		x86.RDTSC: {emulated: (*Machine).rdtsc}, x86.RDTSCP: {emulated: (*Machine).rdtsc},
		x86.RDRAND: {emulated: (*Machine).random}, x86.RDSEED: {emulated: (*Machine).random},
		x86.RDFSBASE: {emulated: rdbase(fsBase)}, x86.RDGSBASE: {emulated: rdbase(gsBase)},
		x86.WRFSBASE: {emulated: wrbase(fsBase)}, x86.WRGSBASE: {emulated: wrbase(gsBase)},
		x86.INT1: {emulated: (*Machine).interrupt}, x86.INT3: {emulated: (*Machine).interrupt}, x86.INT: {emulated: (*Machine).interrupt},
		x86.IRET: {emulated: (*Machine).iret}, x86.RETF: {emulated: (*Machine).farReturn}, x86.JMPF: {emulated: (*Machine).farJump},

		// Integers. MOV, PUSH and POP are those of segment, control and debug registers, LEAVE that of 16 bits, XLAT
		// that with a segment.
		x86.MOV: {emulated: (*Machine).segment}, x86.PUSH: {emulated: (*Machine).segment}, x86.POP: {emulated: (*Machine).segment},
		x86.PUSHF: {emulated: (*Machine).pushf}, x86.POPF: {emulated: (*Machine).popf},
		x86.ENTER: {emulated: (*Machine).enterFrame}, x86.LEAVE: {emulated: (*Machine).leave16}, x86.XLAT: {emulated: (*Machine).translateByte, plain: (*Machine).translateByte},
		x86.CLFLUSH: {plain: (*Machine).touch, fallback: anyForm},

		// Strings with 32-bit addresses or a segment.
		x86.MOVS: {emulated: (*Machine).stringInsn, plain: (*Machine).stringInsn}, x86.STOS: {emulated: (*Machine).stringInsn, plain: (*Machine).stringInsn}, x86.LODS: {emulated: (*Machine).stringInsn, plain: (*Machine).stringInsn},
		x86.SCAS: {emulated: (*Machine).stringInsn, plain: (*Machine).stringInsn}, x86.CMPS: {emulated: (*Machine).stringInsn, plain: (*Machine).stringInsn},

		// The state of x87, SSE and AVX.
		x86.FXSAVE: {emulated: (*Machine).fxsave}, x86.FXSAVE64: {emulated: (*Machine).fxsave},
		x86.FXRSTOR: {emulated: (*Machine).fxrstor}, x86.FXRSTOR64: {emulated: (*Machine).fxrstor},
		x86.XSAVE: {emulated: (*Machine).xsave}, x86.XSAVE64: {emulated: (*Machine).xsave},
		x86.XRSTOR: {emulated: (*Machine).xrstor}, x86.XRSTOR64: {emulated: (*Machine).xrstor},
		x86.FNSTENV: {plain: (*Machine).fnstenv, fallback: anyForm}, x86.FLDENV: {plain: (*Machine).fldenv, fallback: anyForm},
		x86.FNSAVE: {emulated: (*Machine).fnsave}, x86.FRSTOR: {emulated: (*Machine).frstor},
	}
}

// Has reports whether emu/unicorn leaves g to Execute though its kind is Plain: its CPU lacks it, or does it wrongly.
func Has(g *guest.Insn) bool {
	fallback := rowOf(g.Op).fallback
	return g.Kind == guest.Plain && fallback != nil && fallback(g)
}
