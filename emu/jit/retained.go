//go:build linux && amd64

package jit

import (
	"bytes"
	"hash/crc32"
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/callgraph"
	"github.com/cgemu/cgemu/emu/guest"
)

// Code whose mapping goes away is kept: a program is often run again, and finds its code at the same addresses. Such
// blocks are retained until a lookup of their address finds that they would be made the same now. So are blocks that
// lie on a page to which the guest writes: most of the page stays as it is.

// What a block was made from is in its parts of lists: spans of its instructions and of words that they go through,
// what these hold one after the other, and lookaheads, what the code behind its jumps does with the status flags; sums
// of its pages, none if one of them could not be read as a whole; and what the recorder of calls said, if there is one,
// answers and the arcs noted.

// A canonical is an address in six bytes: there are many, and code lies at canonical ones.
type canonical [3]uint16

func canonicalOf(a emu.Addr) canonical {
	return canonical{uint16(a), uint16(a >> 16), uint16(a >> 32)}
}

func (c canonical) addr() emu.Addr {
	return emu.Addr(int64(int16(c[2]))<<32 | int64(c[1])<<16 | int64(c[0]))
}

// A span is n bytes of code at an address, or a word of data if n is dataSpan.
type span struct {
	at canonical
	n  uint16
}

const dataSpan = 1 << 15

func (s span) size() int {
	if s.n == dataSpan {
		return 8
	}
	return int(s.n)
}

// end is the address behind code.
func (s span) end() emu.Addr { return s.at.addr() + emu.Addr(s.n) }

// A lookahead is what flagsAtTarget found at an address.
type lookahead struct {
	at    canonical
	found peek
}

// maxVariants is how many retained blocks begin at an address: as many programs share it.
const maxVariants = 8

// read notes that the block being translated depends on n bytes of code at a.
func (e *Engine) read(a emu.Addr, n int) {
	e.depend(a)
	e.depend(a + emu.Addr(n) - 1)
	if last := len(e.spans) - 1; last >= 0 && e.spans[last].n != dataSpan && e.spans[last].end() == a {
		e.spans[last].n += uint16(n)
		return
	}
	e.spans = append(e.spans, span{canonicalOf(a), uint16(n)})
}

// readWord notes that it depends on the word at a, which is constant.
func (e *Engine) readWord(a emu.Addr) {
	if s := (span{canonicalOf(a), dataSpan}); !slices.Contains(e.spans, s) {
		e.words = append(e.words, a.PageDown())
		e.spans = append(e.spans, s)
	}
}

// fetch reads what s has into code, and reports whether a block may still depend on that.
func (e *Engine) fetch(s span) bool {
	e.code = slices.Grow(e.code[:0], s.size())[:s.size()]
	return e.fetchTo(s, e.code)
}

func (e *Engine) fetchTo(s span, b []byte) bool {
	if s.n == dataSpan {
		return e.constant(s.at.addr()) && e.mem.Read(s.at.addr(), b) == len(b)
	}
	return e.mem.Fetch(s.at.addr(), b) == len(b)
}

// recordSource notes what the block being translated is made from, whose record is r. It reports false if that may not
// be retained: it runs once, or it ends with what is no instruction, which depends on bytes that are not known.
func (e *Engine) recordSource(r *blockRecord) bool {
	last := e.block[len(e.block)-1].Kind
	var notes *callgraph.Notes
	if e.calls != nil {
		if !e.noting {
			return false
		}
		if notes = e.calls.Notes(); notes == nil {
			return false
		}
	}
	if e.singleStep || e.runOffset != 0 || last == guest.Unknown || last == guest.TooLong {
		return false
	}
	e.code = e.code[:0]
	for _, s := range e.spans {
		at, n := len(e.code), s.size()
		e.code = slices.Grow(e.code, n)[:at+n]
		if !e.fetchTo(s, e.code[at:]) {
			return false
		}
	}
	l := e.lists
	l.spans.put(r, inSpans, e.spans)
	l.code.put(r, inCode, e.code)
	l.lookaheads.put(r, inLookaheads, e.lookaheads)
	if notes != nil {
		l.answers.put(r, inAnswers, notes.Functions)
		l.noted.put(r, inNoted, notes.Arcs)
	}
	if e.noting && !r.selfChecks { // others will ask
		l.sums.put(r, inSums, e.sumPages(e.deps, true))
	}
	return true
}

// A pageSum stands for what a page holds: two checksums of it.
type pageSum uint64

// sumPages returns the sums of pages, until it is called again, or none. anew says that they are made of what the pages
// hold, and not known: a block's sums have to be right even if a page has changed unseen, in a file.
func (e *Engine) sumPages(pages []emu.Addr, anew bool) []pageSum {
	e.pageSums = e.pageSums[:0]
	for _, p := range pages {
		sum, ok := e.sumOf(p, anew)
		if !ok {
			return nil
		}
		e.pageSums = append(e.pageSums, sum)
	}
	return e.pageSums
}

// sumOf returns the sum of page p. ok is false if the page has a part that cannot be fetched.
func (e *Engine) sumOf(p emu.Addr, anew bool) (sum pageSum, ok bool) {
	if !anew && len(e.pages[p]) > 0 && !e.mem.Exempt(p) { // it is guarded, and holds what it held when it got its first block
		sum, ok = e.sums[p]
		return sum, ok
	}
	e.code = slices.Grow(e.code[:0], int(emu.PageSize))[:emu.PageSize]
	if e.mem.Fetch(p, e.code) < len(e.code) {
		return 0, false
	}
	return pageSum(crc32.Checksum(e.code, castagnoli))<<32 | pageSum(crc32.ChecksumIEEE(e.code)), true
}

// noteGuarded notes the sum of page p, which is guarded and gets its first block.
func (e *Engine) noteGuarded(p emu.Addr) {
	delete(e.sums, p)
	if !e.noting || e.mem.Exempt(p) {
		return
	}
	if sum, ok := e.sumOf(p, true); ok {
		e.sums[p] = sum
	}
}

// retain makes block t, which nothing reaches any more, retained, or counts it as dead if it may not be.
func (e *Engine) retain(t *tb) {
	if !t.lasting {
		e.bury(t)
		return
	}
	t.retained = true
	list := t.cache.retained[t.pc]
	if len(list) == maxVariants {
		e.bury(list[0])
		list = slices.Delete(list, 0, 1)
		e.retainedBlocks--
	}
	e.retainedBlocks++
	t.cache.retained[t.pc] = append(list, t)
}

// forgetRetained buries the retained blocks at a that count as the engine does, and those of the image.
func (e *Engine) forgetRetained(a emu.Addr) {
	for _, t := range e.retained[a] {
		e.bury(t)
		e.retainedBlocks--
	}
	delete(e.retained, a)
	if img := e.image; img != nil {
		for _, i := range img.at(a) {
			img.used[i] = true
		}
	}
}

// bury counts a block as dead, which nothing reaches or will reach again.
func (e *Engine) bury(t *tb) {
	t.lasting = false
	e.dead++
}

// revalidate returns the block at pc if a retained one, or one of the image, was made from what is there now; it is
// retained no more.
func (e *Engine) revalidate(pc emu.Addr) *tb {
	t := e.revived(pc)
	if t == nil {
		t = e.fromImage(pc)
	}
	if t == nil {
		return nil
	}
	if e.register(t) != nil { // its pages cannot be guarded
		e.bury(t)
		return nil
	}
	e.connectKnown(t)
	return t
}

// revived takes such a block from those that are retained.
func (e *Engine) revived(pc emu.Addr) *tb {
	list := e.retained[pc]
	for i := len(list) - 1; i >= 0; i-- {
		if t := list[i]; e.unchanged(t.lists, &t.blockRecord) {
			e.retained[pc] = slices.Delete(list, i, i+1)
			e.retainedBlocks--
			t.retained = false
			return t
		}
	}
	return nil
}

// unchanged reports whether the guest's memory holds what a block was made from whose parts are in l. Nearly always its
// pages are what they were; else the code alone is looked at, and what was found behind its jumps.
func (e *Engine) unchanged(l *lists, r *blockRecord) bool {
	sums, pages := l.sums.of(r, inSums), l.pages.of(r, inPages)
	if r.selfChecks != e.checksItself(pages) {
		return false
	}
	code, words := pages[:len(sums)], pages[len(sums):]
	same := len(sums) > 0 && (e.knowsSums(code) || e.sameStart(l, r)) && slices.Equal(sums, e.sumPages(code, false)) && (len(words) == 0 || e.sameSpans(l, r, true))
	return (same || e.sameCode(l, r)) && (e.calls == nil || e.calls.Recall(&callgraph.Notes{Functions: l.answers.of(r, inAnswers), Arcs: l.noted.of(r, inNoted)}))
}

// knowsSums reports whether sumPages need not look at pages.
func (e *Engine) knowsSums(pages []emu.Addr) bool {
	for _, p := range pages {
		if len(e.pages[p]) == 0 {
			return false
		}
	}
	return true
}

// sameStart reports whether a block's first instructions are there still: sums of pages take longer, and where a block
// is rewritten all the time they differ.
func (e *Engine) sameStart(l *lists, r *blockRecord) bool {
	spans := l.spans.of(r, inSpans)
	if len(spans) == 0 {
		return true
	}
	s := spans[0]
	return e.fetch(s) && bytes.Equal(e.code, l.code.of(r, inCode)[:s.size()])
}

// sameSpans reports whether a block's spans hold what they did, or those of data alone.
func (e *Engine) sameSpans(l *lists, r *blockRecord, dataOnly bool) bool {
	held := l.code.of(r, inCode)
	for _, s := range l.spans.of(r, inSpans) {
		if !(dataOnly && s.n != dataSpan) && !(e.fetch(s) && bytes.Equal(e.code, held[:s.size()])) {
			return false
		}
		held = held[s.size():]
	}
	return true
}

func (e *Engine) sameCode(l *lists, r *blockRecord) bool {
	e.decoder.Forget()
	if !e.sameSpans(l, r, false) {
		return false
	}
	for _, p := range l.lookaheads.of(r, inLookaheads) {
		found, ok := e.peeks.at(p.at.addr())
		if !ok {
			found = e.examineFlags(p.at.addr())
		}
		if found != p.found {
			return false
		}
	}
	return true
}
