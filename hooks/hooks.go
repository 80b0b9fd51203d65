// Package hooks says what executing guest code counts.
//
// An engine asks when it decodes an instruction, and executes what it is told: what
// an instruction counts is decided here and nowhere else. The rules are
// Cachegrind's as far as they follow from executed instructions alone (spec: counting.md):
// every instruction counts one Ir each time it is executed, faults included, and a
// repeated string instruction more.
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
