//go:build linux && amd64

package jit

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/callgraph"
	"github.com/cgemu/cgemu/hooks"
)

// An image is an engine's code as a file, for the same program's next run: the arena's parts with code as they are, and
// what is known of the blocks there. To a new engine with the same configuration, whose own code is at the same place,
// its blocks are retained ones: each is taken when memory holds what it was made from (retained.go). Links are not in
// it. Of calls it has the arcs that code knows by their places, and the numbers of functions: the recorder of the new
// engine begins with them.
//
// The file is the host's affair: whoever keeps it sees to it that it comes from this very binary, and from nobody else.
// A checksum at its end finds what is not whole.

// Images keeps images between runs.
type Images interface {
	// Load returns what was kept under a name, nil if nothing was. release gives back the memory of a part of it, which
	// is read again when it is looked at; or of all, which must not be looked at any more.
	Load(name string) (image []byte, release func(part []byte))
	// Save keeps what write writes. What fails is not kept.
	Save(name string, write func(io.Writer) error)
}

// An imageHeader is how the file begins. All numbers are the host's.
type imageHeader struct {
	Magic [8]byte
	// Config tells configurations apart.
	Config [sha256.Size]byte
	// Stubs is where the code ends that the engine has anyway, Pos and Far where that of blocks does.
	Stubs, Pos, Far int64
	// Exits and EventCounters are how many there are, Lines how many stamps of I1.
	Exits, EventCounters, Lines int64
	Budgeted, Metered           int64
	UsesX87                     int64 // 1 if the guest has x87 to itself (mmx.go)
	// Distant is 1 if the code does not rely on a shadow stack that lies near.
	Distant int64
	// First says that the next run begins with the image although its code looks at a budget (beginsBudgeted).
	First int64
	// WantsMeter says that the code is to be made anew, metered.
	WantsMeter int64
	// Sizes are those of the lists, in bytes.
	Sizes [imageLists]int64
}

var imageMagic = [8]byte{'c', 'g', 'e', 'm', 'u', 1, '\r', '\n'}

// An imageBody has what follows the header, but for the parts of blocks: lists, then code and far code.
type imageBody struct {
	// blocks are in the order of their code; pcs are their addresses, in ascending order, and order says which block
	// each is that of.
	blocks    rawList[blockRecord]
	pcs       rawList[emu.Addr]
	order     rawList[uint32]
	exits     rawList[exitRecord]
	weights   rawList[int16]
	constants rawList[constant]
	lines     rawList[lineStamp]
	plans     rawList[hooks.Plan]
	// arcs and functions are what the recorder of calls knows (callgraph.Snapshot); arcWords are words beside the
	// counters that are the places of arcs, from the first one's on, callers those that know who called (calls).
	arcs      rawList[callgraph.ArcEnds]
	functions rawList[emu.Addr]
	arcWords  rawList[constant]
	callers   rawList[int64]
}

// whole are those of its lists that are made as a whole, and come last.
func (b *imageBody) whole() [wholeLists]raw {
	return [wholeLists]raw{&b.weights, &b.constants, &b.lines, &b.plans, &b.arcs, &b.functions, &b.arcWords, &b.callers}
}

const (
	wholeLists = 8
	// blockLists is how many lists come first, of blocks.
	blockLists = 4
	imageLists = blockLists + inExits + wholeLists
)

// views are all lists, in the order in which they come; l has those of parts.
func (b *imageBody) views(l *lists) []viewer {
	all := []viewer{&b.blocks, &b.pcs, &b.order, &b.exits}
	for _, v := range l.all() {
		all = append(all, v)
	}
	for _, v := range b.whole() {
		all = append(all, v)
	}
	return all
}

// An exitRecord is an exit without what a run makes of it. A block's follow each other.
type exitRecord struct {
	rip           emu.Addr
	first, second int32
	insn          int16
	kind          exitKind
	flags         exitFlags
	hasBlock      bool
}

// A constant is a word beside the counters that code reads.
type constant struct {
	index int64
	value uint64
}

// A lineStamp is where the stamp of a line of code is.
type lineStamp struct {
	line uint64
	at   int64
}

// An image is what an engine has of the one that it began with.
type image struct {
	imageBody
	end  int    // of its blocks' code
	used []bool // which blocks have been taken, or are not to be
	// taken has those that have been, nil for others; count is how many.
	taken []*tb
	count int
	// body has its lists; free gives the memory of a part of it back.
	body []byte
	free func(part []byte)
	// counts says in which parts of the counters, of countersPart each, there are some of these blocks.
	counts []bool
}

// countersPart is how many counters are added up, or not, together.
const countersPart = 256

// counter notes that a block that was taken has a counter.
func (i *image) counter(k int32) { i.counts[k/countersPart] = true }

// configKey tells apart what the code of blocks depends on, within one version of cgemu, in which a model is what its
// name says.
func (e *Engine) configKey() (key [sha256.Size]byte) {
	caches := "none"
	if e.Caches != nil {
		caches = fmt.Sprint(*e.Caches)
	}
	low := uintptr(0)
	if e.arena.place != nil {
		low = e.arena.place.at
	}
	text := fmt.Appendf(nil, "%s %v %v %v %v %v %v %v %v %v %v %v %#x %#x %v ", e.Model.Name, e.RepOnce, e.Limited, e.Events, e.Others, caches, e.Branches, e.Jumps, e.calls != nil,
		e.hostAVX512, strings.Join(slices.Sorted(maps.Keys(hostFlags())), " "), e.arena.dual, e.directory, low, e.sim.size)
	for _, s := range hostSample() {
		text = binary.LittleEndian.AppendUint32(text, s)
	}
	return sha256.Sum256(text)
}

// errImage is why an image is none for this engine.
var errImage = errors.New("jit: the image is not whole, or is that of another configuration")

// loadImage makes b e's image, which stays where it is. e is new, and key its configuration's. After an error it has
// none.
func (e *Engine) loadImage(b []byte, key [sha256.Size]byte, release func(part []byte)) error {
	all := b
	var h imageHeader
	if copy(h.bytes(), b) < len(h.bytes()) {
		return errImage
	}
	if h.Magic != imageMagic || h.Config != key {
		return errImage
	}
	end := len(b) - sumSize
	if end < len(h.bytes()) || crc32.Checksum(b[:end], castagnoli) != binary.LittleEndian.Uint32(b[end:]) {
		return errImage
	}
	b = b[len(h.bytes()):end]
	if h.UsesX87 != 0 && e.mmx {
		e.withoutMMX()
	}
	switch {
	case h.Distant == 0 && !e.near:
		return errImage
	case h.Distant != 0 && e.near:
		if err := e.goDistant(); err != nil {
			return err
		}
	}
	if h.Stubs != int64(e.stubs.end) || h.Pos < h.Stubs || h.Pos > farOff || h.Far < farOff || h.Far > arenaSize {
		return errImage
	}
	if h.Budgeted != 0 && h.First == 0 {
		return errImage
	}
	if h.WantsMeter != 0 {
		e.metered = true
		return errImage
	}
	img, known := &image{free: release}, &lists{}
	img.body = b
	for i, l := range img.views(known) {
		n := h.Sizes[i]
		if n < 0 || n > int64(len(b)) {
			return errImage
		}
		l.view(b[:n])
		b = b[min(padded(int(n)), len(b)):]
	}
	code, far := int(h.Pos)-codeOff, int(h.Far)-farOff
	stubs := e.stubs.end - codeOff
	if e.calls != nil && 8*len(img.arcs)*e.calls.Width() > maxImageSums {
		return errImage
	}
	if len(b) != code+far || !bytes.Equal(b[:stubs], e.arena.mem[codeOff:e.stubs.end]) {
		return errImage
	}
	img.body = img.body[:len(img.body)-len(b)]
	e.enlarge(8*len(img.weights), code)
	e.arena.populate(e.stubs.end, codeOff+code)
	e.arena.populate(farOff, farOff+far)
	copy(e.arena.mem[e.stubs.end:], b[stubs:code])
	copy(e.arena.mem[farOff:], b[code:])
	release(b)
	e.lists = known
	e.beginWith(img, &h)
	img.relieve()
	e.releaseImage = func() { release(all) }
	return nil
}

// sumSize is the size of the checksum.
const sumSize = 4

// padded is a size rounded up to whole words.
func padded(n int) int { return (n + 7) &^ 7 }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// beginWith makes img e's image.
func (e *Engine) beginWith(img *image, h *imageHeader) {
	img.end, img.used, img.taken = int(h.Pos), make([]bool, len(img.blocks)), make([]*tb, len(img.blocks))
	img.counts = make([]bool, (len(img.weights)+countersPart-1)/countersPart)
	e.image = img
	e.pos, e.far = int(h.Pos), int(h.Far)
	e.weights = append(make([]int16, 0, len(img.weights)+len(img.weights)/8), img.weights...) // most of the code is there
	for _, c := range img.constants {
		e.set(counterOff+8*int(c.index), c.value)
	}
	e.restoreCalls(img)
	e.skipExits(int(h.Exits))
	for _, p := range img.plans {
		e.addPlan(p)
	}
	e.eventCounters = int(h.EventCounters)
	if e.sim.caches {
		e.sim.i1.known, e.sim.i1.used = img.lines, int(h.Lines)
	}
	e.budgeted, e.budgetedFirst, e.metered = h.Budgeted != 0, h.First != 0, h.Metered != 0
}

// at returns the indices of the blocks at pc.
func (i *image) at(pc emu.Addr) []uint32 {
	lo, _ := slices.BinarySearch(i.pcs, pc)
	hi := lo
	for hi < len(i.pcs) && i.pcs[hi] == pc {
		hi++
	}
	return i.order[lo:hi]
}

// blockAt returns the block whose code has an arena offset, nil if that has not been taken.
func (i *image) blockAt(pos int) *tb {
	at, _ := slices.BinarySearchFunc(i.blocks, int32(pos), func(r blockRecord, pos int32) int { return cmp.Compare(r.end, pos+1) })
	if at < len(i.blocks) && int(i.blocks[at].entry) <= pos {
		return i.taken[at]
	}
	return nil
}

// fromImage returns the block at pc if the image has one that was made from what is there now.
func (e *Engine) fromImage(pc emu.Addr) *tb {
	img := e.image
	if img == nil {
		return nil
	}
	for _, i := range img.at(pc) {
		r := &img.blocks[i]
		if img.used[i] || r.counting != e.counting || e.marked(r) {
			continue
		}
		if e.unchanged(e.lists, r) {
			t := e.blockOf(r)
			img.used[i], img.taken[i] = true, t
			if img.count++; img.count%relieved == 0 {
				img.relieve()
			}
			return t
		}
	}
	return nil
}

// relieved is after how many blocks that were taken pages of the image are given back.
const relieved = 1 << 13

// relieve gives the pages of a large image's lists back: most were looked at for blocks that are known now. To read one
// again takes a page fault.
func (i *image) relieve() {
	const large = 4 << 20
	if len(i.body) > large {
		i.free(i.body)
	}
}

// marked reports whether one of the instructions of a block of the image has a mark.
func (e *Engine) marked(r *blockRecord) bool {
	for a := range e.marks {
		if r.has(a, readInsns(e.lists.insns.of(r, inInsns))) {
			return true
		}
	}
	return false
}

// blockOf returns the block of a record. It knows its exits.
func (e *Engine) blockOf(r *blockRecord) *tb {
	img, t := e.image, e.newBlock()
	t.blockRecord, t.lasting = *r, true
	img.counter(t.counter)
	for _, x := range t.sideExits() {
		img.counter(x.counter)
	}
	for _, x := range t.reps() {
		img.counter(x.counter)
	}
	for k, x := range img.exitsOf(r) {
		to := e.exitRoom(int(t.firstExit) + k)
		*to = exit{rip: x.rip, first: x.first, second: x.second, insn: x.insn, kind: x.kind, flags: x.flags}
		if x.hasBlock {
			to.t = t
		}
		e.forgetArc(to)
		if to.is(linkBack) {
			e.backEdges = push(e.backEdges, to)
		}
	}
	return t
}

// exitsOf returns the exits of a block.
func (i *image) exitsOf(r *blockRecord) []exitRecord {
	at := int(r.at[inExits])
	return i.exits[at : at+r.exitCount()]
}

// connectKnown links a block that comes from the image to those that are there.
func (e *Engine) connectKnown(t *tb) {
	for k := range t.exitCount() {
		number := int(t.firstExit) + k
		x := e.exitAt(number)
		if to := e.tbs.at(x.rip); x.kind == exitLink && x.to == nil && to != nil && !e.stepping {
			e.connect(uint32(number), to)
		}
	}
}

// changedPart is how much of an image, one part in so many, has to be new before it is written anew.
const changedPart = 16

// changed reports whether e has translated enough to be written.
func (e *Engine) changed() bool {
	had := 0
	if e.image != nil {
		had = len(e.image.blocks)
	}
	return e.translated > had/changedPart
}
