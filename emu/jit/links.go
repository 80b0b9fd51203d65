//go:build linux && amd64

package jit

import "iter"

// exitFlags say what kind of link an exit is, and what is so where it is taken.
type exitFlags uint8

const (
	linkBack exitFlags = 1 << iota // it leads backwards: Interrupt breaks it
	linkCall                       // a CALL on the shadow stack
	linkNear                       // its instruction ends in the I1 line where its target begins
	regsAway                       // of links and others: the guest's registers are as where a block begins (away.go)
)

// when returns f if b holds.
func (f exitFlags) when(b bool) exitFlags {
	if b {
		return f
	}
	return 0
}

// is reports whether an exit has one of some flags.
func (x *exit) is(f exitFlags) bool { return x.flags&f != 0 }

// connect makes the link with a number reach t.
func (e *Engine) connect(number uint32, t *tb) {
	x := e.exitAt(int(number))
	e.link(x.site(), e.entryFor(x, t))
	if x.to != t { // else Interrupt had broken the link
		x.to, x.next, t.incoming = t, t.incoming, number
	}
}

// linksTo are the links that reach t. They may be taken away from it meanwhile.
func (e *Engine) linksTo(t *tb) iter.Seq[*exit] {
	return func(yield func(*exit) bool) {
		for n := t.incoming; n != 0; {
			x := e.exitAt(int(n))
			if n = x.next; !yield(x) {
				return
			}
		}
	}
}

// disconnect makes the jump or call of x leave generated code.
func (e *Engine) disconnect(x *exit) { e.link(x.site(), x.stub()) }

// entryFor returns where x enters t.
func (e *Engine) entryFor(x *exit, t *tb) int {
	if x.is(linkNear) && t.fetched != 0 {
		return int(t.fetched)
	}
	if !x.is(linkCall) {
		return int(t.entry)
	}
	if t.called == 0 {
		t.called = int32(e.emitCalledEntry())
		e.jmp(int(t.entry))
	}
	return int(t.called)
}

// newExit returns a fresh exit and its number.
func (e *Engine) newExit() (*exit, int) {
	last := len(e.exits) - 1
	if last < 0 || len(e.exits[last]) == exitChunk {
		e.exits = append(e.exits, make([]exit, 0, exitChunk))
		last++
	}
	c := &e.exits[last]
	*c = append(*c, exit{})
	i := len(*c) - 1
	return &(*c)[i], last*exitChunk + i
}

// exitsMade returns how many exits there are, which is the number of the next one.
func (e *Engine) exitsMade() int {
	last := len(e.exits) - 1
	if last < 0 {
		return 0
	}
	return last*exitChunk + len(e.exits[last])
}

// skipExits leaves numbers below n to an image's blocks. Those that belong to none are there.
func (e *Engine) skipExits(n int) {
	fixed := e.exits[0]
	e.exits = make([][]exit, (n+exitChunk-1)/exitChunk)
	for _, i := range [2]int{0, len(e.exits) - 1} { // the last one is full: others begin behind it
		e.exitRoom(i * exitChunk)
	}
	copy(e.exits[0], fixed)
}

// exitRoom returns where exit i of an image's block belongs.
func (e *Engine) exitRoom(i int) *exit {
	if e.exits[i/exitChunk] == nil {
		e.exits[i/exitChunk] = make([]exit, exitChunk)
	}
	return e.exitAt(i)
}

// fixExits makes the exits that belong to no block.
func (e *Engine) fixExits() {
	for _, kind := range [fixedExits]exitKind{exitFault: exitSignal, exitMiss: exitMissed, exitMismatch: exitReturn, exitCrossing: exitReceived} {
		x, _ := e.newExit()
		x.kind, x.flags = kind, regsAway.when(kind != exitSignal)
	}
}
