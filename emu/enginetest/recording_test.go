package enginetest

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/x86"
)

// A recording is what a vendor's CPU did with cases, so that an engine can be compared with it on any host. It has the
// states that the cases start from too: it stays true when the generator of cases changes.
//
// In a file, which gzip compresses, stand the line recordingMagic, the CPU's name, images, the page that cannot be
// written, states, and cases. A case's state differs from one of the states in few bytes, and so do the state and
// memory that it ends in from those it starts from: only these bytes are there (appendChanges). Numbers are varints,
// texts and bytes have their length in front of them.
type recording struct {
	vendor vendor
	// wide says that states have the registers of AVX-512, and cases what isWide tells of.
	wide       bool
	cpu        string
	images, ro []byte
	states     []nativeState
	// cases are all that were chosen, if this machine is being recorded. Of a recording that was read they are one
	// batch, decoded when its turn comes: a case takes 6 KB.
	cases []recordedCase
	// number is how many cases a recording that was read has, encoded where they are.
	number  int
	encoded []byte

	memory [dumpSize]byte // what startMemory returns
	core   []byte         // where oneCase makes states
}

// A recordedCase is an instruction that stands in front of an INT3, the state it starts from, and how it ended.
type recordedCase struct {
	// offset is where in its slot it stands, from which of the recording's states its own was made.
	offset, from int
	code         []byte
	start        nativeState
	// end is valid but for its dump: memory has the changes of that.
	end    outcome
	memory []byte
}

const recordingMagic = "cgemu: recorded results of a CPU, 1\n"

// recordingFile is the file with a recording of vendor v.
func recordingFile(v vendor, wide bool) string {
	if wide {
		return fmt.Sprintf("testdata/recorded-%v-avx512.gz", v)
	}
	return fmt.Sprintf("testdata/recorded-%v.gz", v)
}

func (v vendor) String() string {
	if v == intel {
		return "intel"
	}
	return "amd"
}

// coreSize is the size of core's result without the vector registers, whose state has XAVXSize bytes, or XStateSize
// with AVX-512.
const coreSize = 8 * (16 + 4)

func stateSize(wide bool) int {
	if wide {
		return emu.XStateSize
	}
	return emu.XAVXSize
}

// core returns what an instruction can change, one field after the other. RIP counts from at.
func (s *nativeState) core(at emu.Addr) []byte { return s.appendCore(nil, at) }

func (s *nativeState) appendCore(b []byte, at emu.Addr) []byte {
	b = append(b, s.FP[:stateSize(s.FP.Components()&emu.XAVX512 != 0)]...)
	for _, r := range s.Regs {
		b = binary.LittleEndian.AppendUint64(b, r)
	}
	for _, x := range [...]uint64{uint64(s.RIP - at), s.Flags, s.FSBase, s.GSBase} {
		b = binary.LittleEndian.AppendUint64(b, x)
	}
	return b
}

// setCore undoes core.
func (s *nativeState) setCore(at emu.Addr, b []byte) {
	b = b[copy(s.FP[:], b[:len(b)-coreSize]):]
	word := func() uint64 {
		x := binary.LittleEndian.Uint64(b)
		b = b[8:]
		return x
	}
	for i := range s.Regs {
		s.Regs[i] = word()
	}
	s.RIP = at + emu.Addr(word())
	s.Flags, s.FSBase, s.GSBase = word(), word(), word()
}

// appendChanges appends to b in what after differs from before, which has the same length: runs of bytes, each behind
// how many bytes in front of it are equal and how long it is, and a run of no bytes.
func appendChanges(b, before, after []byte) []byte {
	at := 0
	for i := 0; i < len(after); {
		if before[i] == after[i] {
			i++
			continue
		}
		n := 1
		for i+n < len(after) && before[i+n] != after[i+n] {
			n++
		}
		b = binary.AppendUvarint(b, uint64(i-at))
		b = binary.AppendUvarint(b, uint64(n))
		b = append(b, after[i:i+n]...)
		i += n
		at = i
	}
	return append(b, 0, 0)
}

// content returns r as it stands in a file, without compression.
func (r *recording) content() []byte {
	b := []byte(recordingMagic)
	number := func(x uint64) { b = binary.AppendUvarint(b, x) }
	text := func(x []byte) { number(uint64(len(x))); b = append(b, x...) }
	text([]byte(r.cpu))
	text(r.images)
	text(r.ro)
	number(uint64(len(r.states)))
	for i := range r.states {
		number(uint64(r.states[i].World))
		b = append(b, r.states[i].core(0)...)
	}
	number(uint64(len(r.cases)))
	for i := range r.cases {
		c := &r.cases[i]
		number(uint64(c.offset))
		number(uint64(c.from))
		text(c.code)
		number(uint64(c.start.Image))
		number(uint64(c.start.PatchOff))
		text(c.start.Patch[:c.start.PatchLen])
		start := c.start.core(c.start.RIP)
		b = appendChanges(b, r.states[c.from].core(0), start)
		b = appendChanges(b, start, c.end.state.core(c.start.RIP))
		b = append(append(b, c.memory...), c.end.fault.Vector)
		if c.end.fault.Vector == emu.VecPF {
			b = append(b, bit(c.end.fault.Write)|bit(c.end.fault.Exec)<<1)
			number(uint64(c.end.fault.Addr))
		}
	}
	return b
}

// encode returns r as a file.
func (r *recording) encode() ([]byte, error) {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(r.content()); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func bit(on bool) byte {
	if on {
		return 1
	}
	return 0
}

// startMemory returns the data page and the stack page that a case starts from, until it is asked again.
func (r *recording) startMemory(s *nativeState) []byte {
	b := r.memory[:]
	s.reset(r.images, b[:emu.PageSize], b[emu.PageSize:])
	return b
}

// A recordingReader reads a file's content. It panics with errTorn where that does not go on as it should.
type recordingReader struct{ rest []byte }

var errTorn = errors.New("not a recording, or cut off")

func (r *recordingReader) take(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		panic(errTorn)
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

func (r *recordingReader) number() uint64 {
	x, n := binary.Uvarint(r.rest)
	if n <= 0 {
		panic(errTorn)
	}
	r.rest = r.rest[n:]
	return x
}

// index reads a number below n.
func (r *recordingReader) index(n int) int {
	x := r.number()
	if x >= uint64(n) {
		panic(errTorn)
	}
	return int(x)
}

func (r *recordingReader) text() []byte { return r.take(r.number()) }

// changes reads what appendChanges wrote into b, which has what was in front of it.
func (r *recordingReader) changes(b []byte) {
	for {
		skip, n := r.number(), r.number()
		if n == 0 {
			return
		}
		if skip > uint64(len(b)) || n > uint64(len(b))-skip {
			panic(errTorn)
		}
		copy(b[skip:], r.take(n))
		b = b[skip+n:]
	}
}

// readRecording reads the recording of vendor v.
func readRecording(v vendor, wide bool) (rec *recording, err error) {
	f, err := os.Open(recordingFile(v, wide))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(z)
	if err != nil {
		return nil, err
	}
	content, ok := bytes.CutPrefix(content, []byte(recordingMagic))
	if !ok {
		return nil, errTorn
	}
	defer func() {
		if p := recover(); p != nil {
			if p != errTorn {
				panic(p)
			}
			rec, err = nil, errTorn
		}
	}()
	return decodeRecording(v, wide, &recordingReader{content}), nil
}

// leastCase is how many bytes a case takes at least: its numbers, no code, no changes.
const leastCase = 13

func decodeRecording(v vendor, wide bool, r *recordingReader) *recording {
	rec := &recording{vendor: v, wide: wide, cpu: string(r.text()), images: r.text(), ro: r.text()}
	if len(rec.images) != numImages*dumpSize || len(rec.ro) != emu.PageSize {
		panic(errTorn)
	}
	for range r.index(1 << 16) {
		s := nativeState{World: uint32(r.index(len(worlds)))}
		s.setCore(0, r.take(uint64(stateSize(wide)+coreSize)))
		rec.states = append(rec.states, s)
	}
	rec.number = r.index(len(r.rest)/leastCase + 1)
	rec.encoded = r.rest
	rec.eachBatch(func() {})
	return rec
}

// eachBatch calls f for one batch after the other, which is in r.cases meanwhile.
func (r *recording) eachBatch(f func()) {
	if r.encoded == nil {
		all := r.cases
		for r.cases = range slices.Chunk(all, recordedBatch) {
			f()
		}
		r.cases = all
		return
	}
	reader := recordingReader{r.encoded}
	var layout slotLayout
	for n := 0; n < r.number; n += len(r.cases) {
		r.cases = slices.Grow(r.cases[:0], recordedBatch)[:min(recordedBatch, r.number-n)]
		for i := range r.cases {
			reader.oneCase(r, &layout, &r.cases[i])
		}
		f()
	}
	if len(reader.rest) != 0 {
		panic(errTorn)
	}
}

// oneCase reads the next case of rec.
func (r *recordingReader) oneCase(rec *recording, layout *slotLayout, c *recordedCase) {
	*c = recordedCase{}
	c.offset = r.index(slotSize - x86.MaxLen)
	c.from = r.index(len(rec.states))
	if c.code = r.text(); len(c.code) > x86.MaxLen {
		panic(errTorn)
	}
	c.start.World = rec.states[c.from].World
	at := layout.next(int(c.start.World)) + emu.Addr(c.offset)
	c.start.Image = uint32(r.index(numImages))
	c.start.PatchOff = uint32(r.index(dumpSize))
	patch := r.text()
	if c.start.PatchLen = uint32(copy(c.start.Patch[:], patch)); int(c.start.PatchLen) != len(patch) {
		panic(errTorn)
	}
	rec.core = rec.states[c.from].appendCore(rec.core[:0], 0)
	b := rec.core
	r.changes(b)
	c.start.setCore(at, b)
	r.changes(b)
	c.end.state.setCore(at, b)
	memory := r.rest
	r.changes(rec.memory[:]) // which nobody reads: it is their length that is wanted
	c.memory = memory[:len(memory)-len(r.rest)]
	if c.end.fault.Vector = r.take(1)[0]; c.end.fault.Vector == emu.VecPF {
		bits := r.take(1)[0]
		c.end.fault.Write, c.end.fault.Exec = bits&1 != 0, bits>>1&1 != 0
		c.end.fault.Addr = emu.Addr(r.number())
	}
}

// outcome returns how c, a case of r, ended. Its dump is startMemory's.
func (r *recording) outcome(c *recordedCase) outcome {
	o := c.end
	o.dump = r.startMemory(&c.start)
	(&recordingReader{c.memory}).changes(o.dump)
	return o
}

// A slotLayout gives cases slots, in batches of at most recordedBatch.
type slotLayout struct {
	n    int
	used [len(worlds)]int
}

// recordedBatch is how many cases of a recording are executed together.
const recordedBatch = maxJobs

// next returns the slot of the next case, which is in world w.
func (l *slotLayout) next(w int) emu.Addr {
	if l.n == recordedBatch {
		*l = slotLayout{}
	}
	l.n++
	l.used[w]++
	return worlds[w] + emu.Addr((l.used[w]-1)*slotSize)
}

// batches calls f for the cases of r in batches: b is what to execute.
func (r *recording) batches(f func(cases []recordedCase, b *batch)) {
	b := newBatch()
	r.eachBatch(func() {
		b.clear()
		for i := range r.cases {
			c := &r.cases[i]
			b.slot(int(c.start.World))
			b.put(int(c.start.World), c.start.RIP, append(c.code[:len(c.code):len(c.code)], 0xcc))
			b.jobs = append(b.jobs, c.start)
		}
		f(r.cases, b)
	})
}

// testCase returns c as the comparison wants it.
func (c *recordedCase) testCase() (*testCase, error) {
	at := c.start.RIP
	tc := &testCase{code: c.code, at: at, start: at, all: append(c.code[:len(c.code):len(c.code)], 0xcc)}
	if err := x86.Decode(tc.all, &tc.inst); err != nil {
		return nil, fmt.Errorf("% x: %w", c.code, err)
	}
	if !isBranch(&tc.inst) {
		tc.insns = []emu.Addr{at, at + emu.Addr(len(c.code))}
	}
	return tc, nil
}
