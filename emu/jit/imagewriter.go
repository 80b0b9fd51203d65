//go:build linux && amd64

package jit

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"hash"
	"hash/crc32"
	"io"
	"iter"
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/hooks"
)

// writeImage writes e's image. e will not run any more: its counts and links are gone afterwards.
func (e *Engine) writeImage(out io.Writer) error {
	wantsMeter := e.added > meterAfter/4 && e.wantsMeter()
	e.disconnectAll()
	for t := range e.blocks() {
		e.gatherBlock(t)
	}
	b := e.imageBody()
	h := imageHeader{
		Magic: imageMagic, Config: e.configKey(), Stubs: int64(e.stubs.end), Pos: int64(e.pos), Far: int64(e.far), Exits: int64(e.exitsMade()),
		EventCounters: int64(e.eventCounters), Lines: int64(e.sim.i1.used), Budgeted: int64(b2i(e.budgeted)), Metered: int64(b2i(e.metered)), UsesX87: int64(b2i(!e.mmx)), Distant: int64(b2i(!e.reliesOnNear())),
		WantsMeter: int64(b2i(wantsMeter)), First: int64(b2i(e.beginsBudgeted())),
	}
	h.Sizes = e.imageSizes(b)
	w := newImageWriter(out)
	w.Write(h.bytes())
	e.writeBlocks(w)
	w.pad()
	for _, l := range [...]raw{&b.pcs, &b.order} {
		w.Write(l.bytes())
		w.pad()
	}
	e.writeExits(w)
	w.pad()
	for k, l := range e.lists.all() {
		for r := range e.records() {
			w.Write(l.bytesOf(r, k))
		}
		w.pad()
	}
	for _, l := range b.whole() {
		w.Write(l.bytes())
		w.pad()
	}
	w.Write(e.arena.mem[codeOff:e.pos])
	w.Write(e.arena.mem[farOff:e.far])
	return w.end()
}

// An imageWriter writes the file, and takes its checksum.
type imageWriter struct {
	*bufio.Writer // which keeps the first error
	out           io.Writer
	sum           hash.Hash32
	n             int // bytes written since the last padding
}

func newImageWriter(out io.Writer) *imageWriter {
	sum := crc32.New(castagnoli)
	return &imageWriter{Writer: bufio.NewWriterSize(io.MultiWriter(out, sum), 64<<10), out: out, sum: sum}
}

// Write implements io.Writer.
func (w *imageWriter) Write(b []byte) (int, error) {
	w.n += len(b)
	return w.Writer.Write(b)
}

// pad ends a list: the next one begins at a whole word.
func (w *imageWriter) pad() {
	var zero [8]byte
	w.Writer.Write(zero[:padded(w.n)-w.n])
	w.n = 0
}

// end writes the checksum.
func (w *imageWriter) end() error {
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := w.out.Write(binary.LittleEndian.AppendUint32(nil, w.sum.Sum32()))
	return err
}

// disconnectAll breaks all links.
func (e *Engine) disconnectAll() {
	for _, chunk := range e.exits {
		for i := range chunk {
			if x := &chunk[i]; x.to != nil {
				e.disconnect(x)
			}
		}
	}
}

// records are those of the blocks that the image will have: of e's that may be retained, and of those of its own image
// that it has not used, in the order of their code. t is nil for the latter.
func (e *Engine) records() iter.Seq2[*blockRecord, *tb] {
	return func(yield func(*blockRecord, *tb) bool) {
		if img := e.image; img != nil {
			for i := range img.blocks {
				t, r := img.taken[i], &img.blocks[i]
				if t != nil {
					r = &t.blockRecord
				}
				if (t == nil && !img.used[i] || t.keeps()) && !yield(r, t) {
					return
				}
			}
		}
		for _, t := range e.all {
			if t.keeps() && !yield(&t.blockRecord, t) {
				return
			}
		}
	}
}

// keeps reports whether an image may have t, which may be nil.
func (t *tb) keeps() bool { return t != nil && t.lasting && t.unmarked == 0 && !t.selfChecks }

// imageBody returns the lists of e's image, but for those that writeBlocks and writeExits write.
func (e *Engine) imageBody() *imageBody {
	n := 0
	for range e.records() {
		n++
	}
	b := imageBody{pcs: make([]emu.Addr, 0, n), order: make([]uint32, 0, n)}
	for r := range e.records() {
		b.pcs = append(b.pcs, r.pc)
		b.order = append(b.order, uint32(len(b.order)))
	}
	slices.SortStableFunc(b.order, func(x, y uint32) int { return cmp.Compare(b.pcs[x], b.pcs[y]) })
	slices.Sort(b.pcs)
	e.saveCalls(&b)
	b.weights = e.weights
	for i := range e.weights {
		if v := e.count(i); v != 0 {
			b.constants = append(b.constants, constant{int64(i), v})
		}
	}
	b.lines = e.sim.i1.all()
	b.plans = make([]hooks.Plan, len(e.planIndex))
	for p, i := range e.planIndex {
		b.plans[i-1] = p
	}
	return &b
}

// imageSizes returns the sizes of all lists.
func (e *Engine) imageSizes(b *imageBody) (sizes [imageLists]int64) {
	var n [numParts]int
	for r := range e.records() {
		for k := range n {
			n[k] += int(r.n[k])
		}
	}
	own := sizes[:0]
	for _, size := range [blockLists]int{len(b.pcs) * sizeOf[blockRecord](), len(b.pcs) * sizeOf[emu.Addr](), len(b.order) * sizeOf[uint32](), n[inExits] * sizeOf[exitRecord]()} {
		own = append(own, int64(size))
	}
	for k, l := range e.lists.all() {
		own = append(own, int64(n[k]*l.elementSize()))
	}
	for _, l := range b.whole() {
		own = append(own, int64(len(l.bytes())))
	}
	return sizes
}

// writeBlocks writes the records. Parts of lists follow each other there.
func (e *Engine) writeBlocks(w *imageWriter) {
	var at [numParts]uint32
	one := make(rawList[blockRecord], 1)
	for r := range e.records() {
		one[0] = *r
		one[0].at = at
		for k := range at {
			at[k] += uint32(r.n[k])
		}
		w.Write(one.bytes())
	}
}

// writeExits writes the exits of these blocks.
func (e *Engine) writeExits(w *imageWriter) {
	one := make(rawList[exitRecord], 1)
	for r, t := range e.records() {
		if t == nil {
			list := rawList[exitRecord](e.image.exitsOf(r))
			w.Write(list.bytes())
			continue
		}
		for k := range r.exitCount() {
			x := e.exitAt(int(r.firstExit) + k)
			one[0] = exitRecord{
				rip: x.rip, first: x.first, second: x.second, insn: x.insn, kind: x.kind, flags: x.flags, hasBlock: x.t != nil,
			}
			if x.kind != exitLink && x.kind != exitJumpArc { // the run's own
				one[0].second = 0
			}
			w.Write(one.bytes())
		}
	}
}
