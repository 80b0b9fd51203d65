package hooks

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/x86"
)

// A Repeat says what a REP instruction counts beyond one Ir. With n the iterations it made
// (what RCX lost): n, since the pass that finds RCX zero counts too; or, if its condition
// ended it, n-1, since there was no such pass.
type Repeat uint8

// Kinds of repetition.
const (
	NoRepeat      Repeat = iota // counts one, whatever it does
	RepeatCount                 // REP MOVS, STOS, LODS: ended by RCX alone
	RepeatEqual                 // REPE CMPS, SCAS: ended by RCX or by ZF = 0
	RepeatUnequal               // REPNE CMPS, SCAS: ended by RCX or by ZF = 1
)

// CountedRepeat returns how the iterations of i count in a run of cfg.
func CountedRepeat(i *x86.Inst, cfg *emu.Config) Repeat {
	if cfg.RepOnce {
		return NoRepeat
	}
	return RepeatOf(i)
}

// RepeatOf returns how i repeats.
func RepeatOf(i *x86.Inst) Repeat {
	switch {
	case !i.Rep && !i.Repne:
		return NoRepeat
	case i.Op != x86.CMPS && i.Op != x86.SCAS:
		return RepeatCount
	case i.Repne:
		return RepeatUnequal
	default:
		return RepeatEqual
	}
}

// EndsByCondition reports whether its condition ends the REP instruction i behind an iteration that left ZF as zf.
func EndsByCondition(i *x86.Inst, zf bool) bool {
	switch RepeatOf(i) {
	case RepeatEqual:
		return !zf
	case RepeatUnequal:
		return zf
	}
	return false
}

// Iterations are iterations of a REP instruction that were made.
type Iterations struct {
	// N is how many there were.
	N uint64
	// conditional says that each tests a condition, byCondition that it ended the instruction, unfinished that the
	// instruction did not end behind them: the next one faulted, or more are to come.
	conditional, byCondition, unfinished bool
}

// IterationsOf returns the iterations of the REP instruction i that took RCX from before to what it is in c now.
// unfinished says that the instruction did not end behind them.
func IterationsOf(i *x86.Inst, c *emu.CPU, before uint64, unfinished bool) Iterations {
	n := before - c.Regs[emu.RCX]
	if i.Mem.AddrSize == 4 {
		n = uint64(uint32(n))
	}
	return Iterations{
		N: n, conditional: RepeatOf(i) != RepeatCount, unfinished: unfinished,
		byCondition: !unfinished && n > 0 && EndsByCondition(i, c.Flags&emu.FlagZF != 0),
	}
}

// Ir returns what they count besides the one of the instruction's plan.
func (it Iterations) Ir(cfg *emu.Config) uint64 {
	switch {
	case cfg.RepOnce:
		return 0
	case it.byCondition:
		return it.N - 1
	}
	return it.N
}

// settled is how many branches in a row that are taken, at one address, the predictor learns from: 7 fill its history,
// and 3 bring the counter for that to its end.
const settled = 10

// Branches calls f with the outcomes of the conditional branches that they count, in order, but for those from which
// the predictor learns nothing, and returns how many they count. Each iteration tests RCX, and the condition if there
// is one; the last test of RCX finds 0, unless the condition came first or they are unfinished.
func (it Iterations) Branches(f func(taken bool)) (n uint64) {
	for k := uint64(0); k < it.N; k++ {
		if k == settled {
			k = it.N - 1
		}
		f(true)
		if it.conditional {
			f(!it.byCondition || k+1 < it.N)
		}
	}
	if n = it.N; it.conditional {
		n *= 2
	}
	if !it.byCondition && !it.unfinished {
		f(false)
		n++
	}
	return n
}
