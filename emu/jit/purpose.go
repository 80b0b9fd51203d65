//go:build linux && amd64

package jit

import "github.com/cgemu/cgemu/emu"

// A purpose is what generated code is for.
type purpose uint8

const (
	forGuest purpose = iota
	forCounts
	forI1
	forD1
	forBranches
	forFlags
	forCalls
	forLookups
	forLinks
	forStubs
	forMisses
	forSelfChecks
)

// purposes are what emu.Debug calls them.
var purposes = [...]string{
	forGuest:      "guest: its instructions",
	forCounts:     "counters: entries, exits, totals",
	forI1:         "I1: fetches",
	forD1:         "D1: references",
	forBranches:   "branches: predictor",
	forFlags:      "spills: registers and flags",
	forCalls:      "calls: calls and returns",
	forLookups:    "lookups: indirect jumps and calls",
	forLinks:      "links: from block to block",
	forStubs:      "stubs: shared code, exits",
	forMisses:     "misses: shared code of caches",
	forSelfChecks: "self-checks: of code that is stored to",
}

// A purposeLog has what code is for, piece by piece, since it was last told.
type purposeLog struct {
	list []emu.Code // by arena offset
	now  purpose
	from int // where code with that purpose begins
}

// emitFor notes that the code from here on is for p, and returns what it was for so far.
func (e *assembler) emitFor(p purpose) (was purpose) {
	if e.purposes == nil {
		return p
	}
	e.purposes.end(e.pos)
	was, e.purposes.now, e.purposes.from = e.purposes.now, p, e.pos
	return was
}

func (l *purposeLog) end(pos int) {
	if pos > l.from {
		l.list = append(l.list, emu.Code{Addr: uint64(l.from), Size: pos - l.from, Purpose: purposes[l.now], Far: l.from >= farOff})
	}
}

// debugPurposes tells what the code emitted since the last time is for.
func (e *Engine) debugPurposes() {
	if e.purposes == nil {
		return
	}
	e.emitFor(forGuest)
	list := e.purposes.list
	for i := range list {
		list[i].Addr = e.hostAddr(int(list[i].Addr))
	}
	e.Debug.Code(list)
	e.purposes.list = list[:0]
}
