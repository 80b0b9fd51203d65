//go:build linux && amd64

package jit

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/callgraph"
	"github.com/cgemu/cgemu/hooks"
)

// An image is an engine's code as a file, for the same program's next run: the arena's parts with code as they are, and what is known of the blocks there. To a new
// engine with the same configuration, whose own code is at the same place, its blocks are retained ones: each is taken when memory holds what it
// was made from (retained.go). Links are not in it. Of calls it has
// the arcs that code knows by their places, and the numbers of functions: the recorder of the new engine begins with them.
//
// The file is the host's affair: whoever keeps it sees to it that it comes from this very binary, and from nobody else. A checksum finds what is not whole.

// Images keeps images between runs.
type Images interface {
	// Load returns what was kept under a name, nil if nothing was. release gives back the memory of a part of it, or of all, which must not be looked at any more.
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
	// First says that the next run begins with the image although its code looks at a budget (beginsBudgeted).
	First int64
	// WantsMeter says that the code is to be made anew, metered.
	WantsMeter int64
	// Sizes are those of the lists, in bytes.
	Sizes [imageLists]int64
	// Sum is the checksum of the header up to here and of what follows.
	Sum uint64
}

var imageMagic = [8]byte{'c', 'g', 'e', 'm', 'u', 1, '\r', '\n'}

// An imageBody has what follows the header: lists, then code and far code.
type imageBody struct {
	// blocks are in the order of their code; pcs are their addresses, in ascending order, and order says which block each is that of.
	blocks     rawList[blockRecord]
	pcs        rawList[emu.Addr]
	order      rawList[uint32]
	exits      rawList[exitRecord]
	insns      rawList[insnAt]
	sideExits  rawList[sideExit]
	reps       rawList[repCounter]
	own        rawList[ownCounter]
	saved      rawList[saved]
	pages      rawList[emu.Addr]
	spans      rawList[span]
	code       rawList[byte]
	lookaheads rawList[lookahead]
	sums       rawList[pageSum]
	weights    rawList[int16]
	constants  rawList[constant]
	lines      rawList[lineStamp]
	plans      rawList[hooks.Plan]
	// answers and noted are of what the recorder of calls said, arcs and functions are what it knows (callgraph.Snapshot); arcWords are words beside the counters that are the places of arcs,
	// from the first one's on.
	answers   rawList[callgraph.Answer]
	noted     rawList[int]
	arcs      rawList[callgraph.ArcEnds]
	functions rawList[emu.Addr]
	arcWords  rawList[constant]
}

// imageLists is how many lists there are.
const imageLists = 23

func (b *imageBody) lists() [imageLists]raw {
	return [imageLists]raw{&b.blocks, &b.pcs, &b.order, &b.exits, &b.insns, &b.sideExits, &b.reps, &b.own, &b.saved, &b.pages, &b.spans, &b.code, &b.lookaheads, &b.sums, &b.weights,
		&b.constants, &b.lines, &b.plans, &b.answers, &b.noted, &b.arcs, &b.functions, &b.arcWords}
}

// A place is where a block's part of a list is.
type place struct{ at, n uint32 }

// put adds what a block has to a list.
func put[T any](to *rawList[T], list []T) place {
	p := place{uint32(len(*to)), uint32(len(list))}
	*to = append(*to, list...)
	return p
}

// of returns it.
func of[T any](from rawList[T], p place) []T {
	if p.n == 0 {
		return nil
	}
	return from[p.at : p.at+p.n : p.at+p.n]
}

// A blockRecord is a tb without what a run makes of it.
type blockRecord struct {
	pc                                    emu.Addr
	entry, fetched, end, indirect, called int32
	lookup, counter, firstExit            int32
	counted, linkage                      int16
	counting                              emu.Counting
	insns, sideExits, reps, own, saved    place
	pages, spans, code, lookaheads, exits place
	sums                                  place
	passed                                int32
	from                                  uint32
	answers, noted                        place
}

// An exitRecord is an exit without what a run makes of it. A block's follow each other.
type exitRecord struct {
	rip                        emu.Addr
	site, stub, resume, cache  int32
	insn                       int16
	kind                       exitKind
	hasBlock, back, call, near bool
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
	// counts says in which parts of the counters, of countersPart each, there are some of these blocks.
	counts []bool
}

// countersPart is how many counters are added up, or not, together.
const countersPart = 256

// counter notes that a block that was taken has a counter.
func (i *image) counter(k int) { i.counts[k/countersPart] = true }

// configKey tells apart what the code of blocks depends on.
func (e *Engine) configKey() (key [sha256.Size]byte) {
	caches := "none"
	if e.Caches != nil {
		caches = fmt.Sprint(*e.Caches)
	}
	low := uintptr(0)
	if e.arena.place != nil {
		low = e.arena.place.at
	}
	return sha256.Sum256(fmt.Appendf(nil, "%+v %v %v %v %v %v %v %v %v %v %v %v %v %v %#x %#x %v %v %v", *e.Model, e.RepOnce, e.Limited, e.Events, e.Others, caches, e.Branches, e.Jumps, e.calls != nil,
		e.hostAVX512, e.lacks, hostFlags(), hostSample(), e.arena.dual, e.directory, low, e.sim.size, e.sim.d1.ways.host, e.sim.ll.ways.host))
}

// errImage is why an image is none for this engine.
var errImage = errors.New("jit: the image is not whole, or is that of another configuration")

// loadImage makes b e's image, which stays where it is. e is new, and key its configuration's. After an error it has none.
func (e *Engine) loadImage(b []byte, key [sha256.Size]byte, release func(part []byte)) error {
	all := b
	var h imageHeader
	if copy(h.bytes(), b) < len(h.bytes()) {
		return errImage
	}
	if h.Magic != imageMagic || h.Config != key || h.Stubs != int64(e.stubs.end) || h.Pos < h.Stubs || h.Pos > farOff || h.Far < farOff || h.Far > arenaSize {
		return errImage
	}
	if h.Budgeted != 0 && h.First == 0 {
		return errImage
	}
	b = b[len(h.bytes()):]
	if uint64(crc32.Update(crc32.Update(0, castagnoli, h.summed()), castagnoli, b)) != h.Sum {
		return errImage
	}
	if h.WantsMeter != 0 {
		e.metered = true
		return errImage
	}
	img := &image{}
	for i, l := range img.lists() {
		n := h.Sizes[i]
		if n < 0 || n > int64(len(b)) {
			return errImage
		}
		l.view(b[:n])
		b = b[min(padded(int(n)), len(b)):]
	}
	code, far := int(h.Pos)-codeOff, int(h.Far)-farOff
	stubs := e.stubs.end - codeOff
	if e.calls != nil && 8*len(img.arcs)*e.calls.Width() > maxKeptSums {
		return errImage
	}
	if len(b) != code+far || !bytes.Equal(b[:stubs], e.arena.mem[codeOff:e.stubs.end]) {
		return errImage
	}
	e.arena.enlarge(8*len(img.weights), code)
	copy(e.arena.mem[e.stubs.end:], b[stubs:code])
	copy(e.arena.mem[farOff:], b[code:])
	release(b)
	e.beginWith(img, &h)
	e.releaseImage = func() { release(all) }
	return nil
}

// padded is a size rounded up to whole words.
func padded(n int) int { return (n + 7) &^ 7 }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// beginWith makes img e's image.
func (e *Engine) beginWith(img *image, h *imageHeader) {
	img.end, img.used, img.taken = int(h.Pos), make([]bool, len(img.blocks)), make([]*tb, len(img.blocks))
	img.counts = make([]bool, (len(img.weights)+countersPart-1)/countersPart)
	e.image = img
	e.pos, e.far = int(h.Pos), int(h.Far)
	e.weights = slices.Clone(img.weights)
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
		if img.used[i] || r.counting != e.counting || e.marked(pc, of(img.insns, r.insns)) {
			continue
		}
		src := source{spans: of(img.spans, r.spans), code: of(img.code, r.code), peeks: of(img.lookaheads, r.lookaheads), sums: of(img.sums, r.sums)}
		if e.calls != nil {
			src.calls = &callgraph.Notes{Functions: of(img.answers, r.answers), Arcs: of(img.noted, r.noted)}
		}
		if e.unchanged(&src, of(img.pages, r.pages)) {
			t := e.blockOf(r, src)
			img.used[i], img.taken[i] = true, t
			img.count++
			return t
		}
	}
	return nil
}

// marked reports whether one of the instructions of the block at pc has a mark.
func (e *Engine) marked(pc emu.Addr, insns []insnAt) bool {
	return len(e.marks) > 0 && slices.ContainsFunc(insns, func(i insnAt) bool { return e.marks[pc+emu.Addr(int64(i.off))] })
}

// blockOf returns the block of a record, made from src. It knows its exits.
func (e *Engine) blockOf(r *blockRecord, src source) *tb {
	img := e.image
	t, kept := &e.slabs.tbs.room(1)[0], &e.slabs.sources.room(1)[0]
	*kept = src
	*t = tb{
		pc: r.pc, cache: e.codeCache, entry: int(r.entry), fetched: int(r.fetched), end: int(r.end), indirect: int(r.indirect), called: int(r.called), linkage: int(r.linkage),
		counted: int(r.counted), counter: int(r.counter), lookup: int(r.lookup), firstExit: int(r.firstExit), exitCount: int(r.exits.n),
		passed: int(r.passed), from: r.from,
		insns: of(img.insns, r.insns), exits: of(img.sideExits, r.sideExits), reps: of(img.reps, r.reps), own: of(img.own, r.own), saved: of(img.saved, r.saved),
		pages: of(img.pages, r.pages), src: kept,
	}
	img.counter(t.counter)
	for _, x := range t.exits {
		img.counter(int(x.counter))
	}
	for _, x := range t.reps {
		img.counter(x.counter)
	}
	for k, x := range of(img.exits, r.exits) {
		to := e.exitRoom(t.firstExit + k)
		*to = exit{rip: x.rip, site: x.site, stub: x.stub, resume: x.resume, cache: x.cache, insn: x.insn, kind: x.kind, back: x.back, call: x.call, near: x.near}
		if x.hasBlock {
			to.t = t
		}
		e.forgetArc(to)
		if x.back && x.kind == exitLink {
			e.backEdges = append(e.backEdges, to)
		}
	}
	return t
}

// connectKnown links a block that comes from the image to those that are there.
func (e *Engine) connectKnown(t *tb) {
	for k := range t.exitCount {
		x := e.exitAt(t.firstExit + k)
		if to := e.tbs[x.rip]; x.kind == exitLink && x.to == nil && to != nil && !e.stepping {
			e.connect(x, to)
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

// writeImage writes e's image. e will not run any more: its counts and links are gone afterwards.
func (e *Engine) writeImage(w io.Writer) error {
	var b imageBody
	wantsMeter := e.added > meterAfter/4 && e.wantsMeter()
	for _, chunk := range e.exits {
		for i := range chunk {
			if x := &chunk[i]; x.to != nil {
				e.disconnect(x)
			}
		}
	}
	for t := range e.blocks() {
		e.gatherBlock(t)
	}
	e.addRecords(&b)
	e.saveCalls(&b)
	b.weights = e.weights
	for i := range e.weights {
		if v := e.count(i); v != 0 {
			b.constants = append(b.constants, constant{int64(i), v})
		}
	}
	b.lines = e.sim.i1.all()
	for p, i := range e.planIndex {
		for len(b.plans) < int(i) {
			b.plans = append(b.plans, hooks.Plan{})
		}
		b.plans[i-1] = p
	}
	h := imageHeader{
		Magic: imageMagic, Config: e.configKey(), Stubs: int64(e.stubs.end), Pos: int64(e.pos), Far: int64(e.far), Exits: int64(e.exitsMade()),
		EventCounters: int64(e.eventCounters), Lines: int64(e.sim.i1.used), Budgeted: int64(b2i(e.budgeted)), Metered: int64(b2i(e.metered)),
		WantsMeter: int64(b2i(wantsMeter)), First: int64(b2i(e.beginsBudgeted())),
	}
	parts := [][]byte{}
	for i, l := range b.lists() {
		n := len(l.bytes())
		parts = append(parts, l.bytes(), make([]byte, padded(n)-n))
		h.Sizes[i] = int64(n)
	}
	parts = append(parts, e.arena.mem[codeOff:e.pos], e.arena.mem[farOff:e.far])
	sum := crc32.Update(0, castagnoli, h.summed())
	for _, part := range parts {
		sum = crc32.Update(sum, castagnoli, part)
	}
	h.Sum = uint64(sum)
	for _, part := range append([][]byte{h.bytes()}, parts...) {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// addRecords adds to b what e knows of its blocks that may be retained, and of those of its image that it has not used.
func (e *Engine) addRecords(b *imageBody) {
	e.reserve(b)
	if img := e.image; img != nil {
		for i, r := range img.blocks {
			if t := img.taken[i]; t != nil {
				e.addRecord(b, t)
			} else if !img.used[i] {
				b.addUnused(img, r)
			}
		}
	}
	for _, t := range e.all {
		e.addRecord(b, t)
	}
	for i := range b.blocks {
		b.order = append(b.order, uint32(i))
	}
	slices.SortStableFunc(b.order, func(x, y uint32) int { return cmp.Compare(b.blocks[x].pc, b.blocks[y].pc) })
	for _, i := range b.order {
		b.pcs = append(b.pcs, b.blocks[i].pc)
	}
}

// reserve makes room for all that may be added, so that no list grows twice.
func (e *Engine) reserve(b *imageBody) {
	var had imageBody
	if e.image != nil {
		had = e.image.imageBody
	}
	n := struct{ blocks, exits, insns, sideExits, reps, own, saved, pages, spans, code, lookaheads, sums int }{}
	for t := range e.blocks() {
		if t.src == nil {
			continue
		}
		n.blocks++
		n.exits += t.exitCount
		n.insns += len(t.insns)
		n.sideExits += len(t.exits)
		n.reps += len(t.reps)
		n.own += len(t.own)
		n.saved += len(t.saved)
		n.pages += len(t.pages)
		n.spans += len(t.src.spans)
		n.code += len(t.src.code)
		n.lookaheads += len(t.src.peeks)
		n.sums += len(t.src.sums)
	}
	b.blocks = make([]blockRecord, 0, len(had.blocks)+n.blocks)
	b.pcs, b.order = make([]emu.Addr, 0, cap(b.blocks)), make([]uint32, 0, cap(b.blocks))
	b.exits, b.insns = make([]exitRecord, 0, len(had.exits)+n.exits), make([]insnAt, 0, len(had.insns)+n.insns)
	b.sideExits, b.reps = make([]sideExit, 0, len(had.sideExits)+n.sideExits), make([]repCounter, 0, len(had.reps)+n.reps)
	b.own, b.saved = make([]ownCounter, 0, len(had.own)+n.own), make([]saved, 0, len(had.saved)+n.saved)
	b.pages, b.spans = make([]emu.Addr, 0, len(had.pages)+n.pages), make([]span, 0, len(had.spans)+n.spans)
	b.sums = make([]pageSum, 0, len(had.sums)+n.sums)
	b.code, b.lookaheads = make([]byte, 0, len(had.code)+n.code), make([]lookahead, 0, len(had.lookaheads)+n.lookaheads)
}

// addRecord adds what e knows of t, if that may be retained.
func (e *Engine) addRecord(b *imageBody, t *tb) {
	if t.src == nil || t.unmarked != 0 {
		return
	}
	r := blockRecord{
		pc: t.pc, entry: int32(t.entry), fetched: int32(t.fetched), end: int32(t.end), indirect: int32(t.indirect), called: int32(t.called), linkage: int16(t.linkage),
		counted: int16(t.counted), counter: int32(t.counter), lookup: int32(t.lookup), firstExit: int32(t.firstExit), counting: t.cache.counting,
		insns: put(&b.insns, t.insns), sideExits: put(&b.sideExits, t.exits), reps: put(&b.reps, t.reps), own: put(&b.own, t.own), saved: put(&b.saved, t.saved),
		pages: put(&b.pages, t.pages), spans: put(&b.spans, t.src.spans), code: put(&b.code, t.src.code), lookaheads: put(&b.lookaheads, t.src.peeks), sums: put(&b.sums, t.src.sums),
		exits: place{uint32(len(b.exits)), uint32(t.exitCount)}, passed: int32(t.passed), from: t.from,
	}
	if n := t.src.calls; n != nil {
		r.answers, r.noted = put(&b.answers, n.Functions), put(&b.noted, n.Arcs)
	}
	for k := range t.exitCount {
		x := e.exitAt(t.firstExit + k)
		b.exits = append(b.exits, exitRecord{
			rip: x.rip, site: x.site, stub: x.stub, resume: x.resume, cache: x.cache, insn: x.insn, kind: x.kind, hasBlock: x.t != nil, back: x.back, call: x.call, near: x.near,
		})
	}
	b.blocks = append(b.blocks, r)
}

// addUnused adds a block of img as it was.
func (b *imageBody) addUnused(img *image, r blockRecord) {
	r.insns, r.sideExits, r.reps = put(&b.insns, of(img.insns, r.insns)), put(&b.sideExits, of(img.sideExits, r.sideExits)), put(&b.reps, of(img.reps, r.reps))
	r.own, r.saved, r.pages = put(&b.own, of(img.own, r.own)), put(&b.saved, of(img.saved, r.saved)), put(&b.pages, of(img.pages, r.pages))
	r.spans, r.code, r.lookaheads = put(&b.spans, of(img.spans, r.spans)), put(&b.code, of(img.code, r.code)), put(&b.lookaheads, of(img.lookaheads, r.lookaheads))
	r.sums = put(&b.sums, of(img.sums, r.sums))
	r.exits, r.answers, r.noted = put(&b.exits, of(img.exits, r.exits)), put(&b.answers, of(img.answers, r.answers)), put(&b.noted, of(img.noted, r.noted))
	b.blocks = append(b.blocks, r)
}
