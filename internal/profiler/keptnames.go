package profiler

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"maps"
	"math"
	"slices"
	"sort"

	"github.com/cgemu/cgemu/dwarfmap"
)

// A Keeper keeps files between runs of this binary.
type Keeper interface {
	// Load returns what was kept under a name, nil if nothing was. release gives back the memory of a part of it, which
	// is read again when it is looked at; or of all, which must not be looked at any more.
	Load(name string) (b []byte, release func(part []byte))
	// Save keeps what write writes. What fails is not kept.
	Save(name string, write func(io.Writer) error)
	// Identify returns a text that changes when a file does, "" if there is none.
	Identify(path string) string
}

// An object is a file that code comes from.
type object struct {
	*dwarfmap.Object
	names *keptNames // nil if none are kept
}

// placeOf returns the place of an address, and where what has the same place ends. linkage says that entries of
// procedure linkage tables have names.
func (o *object) placeOf(va uint64, linkage bool) (loc dwarfmap.Loc, end uint64) {
	if o.names != nil {
		if loc, end, ok := o.names.find(va); ok {
			return loc, end
		}
	}
	loc, end = o.LookupRun(va)
	if loc.Func == dwarfmap.Unknown && linkage {
		loc.Func = cmp.Or(o.LinkageName(va), dwarfmap.Unknown)
	}
	if o.names != nil {
		o.names.add(va, loc, end)
	}
	return loc, end
}

// keptNames are the places and the extents of functions in an object that runs before this one have asked for, and
// those that this one does. They are good for one file with one debug file, and for one way of naming.
type keptNames struct {
	keeper Keeper
	name   string // under which they are kept
	// files is the identity of the files that they come from, as it was before these were read.
	files string
	// places and functions are records of what was kept, ends and texts its texts: where each ends, and all of them.
	// shown has those that were asked for, "" for others.
	places, functions, ends, texts []byte
	shown                          []string
	release                        func()
	// place and function are the indices of the records that were found last.
	place, function int
	// fresh are the places that this run has asked for. From the first one on list has all texts, and numbers tells
	// which is where.
	fresh   freshPlaces
	numbers map[string]uint32
	list    []string
	// extents are those that this run has asked for, by where they begin.
	extents map[uint64]extent
}

// A keptPlace is how many addresses have it, its line, and the numbers of the texts of file and function.
type keptPlace struct{ size, line, file, fn uint32 }

// A record is an address and a keptPlace; all little-endian, in the order of addresses. A file
// begins with the magic and the numbers of bytes of identity, places, functions and ends, and ends with a checksum.
const (
	keptMagic  = "cgnames\x03"
	keptHeader = len(keptMagic) + 4*4
	keptRecord = 8 + 4*4
	keptSum    = 4
)

// filesOf is the identity of an object, own, and of its debug file; "" if there is none.
func filesOf(k Keeper, o *dwarfmap.Object, own string) string {
	debug := o.DebugFile()
	if own == "" || debug == "" {
		return own
	}
	identity := k.Identify(debug)
	if identity == "" {
		return ""
	}
	return own + "\x00" + debug + "\x00" + identity
}

// makeKeptNames returns some of which nothing was kept.
func makeKeptNames(files string) *keptNames {
	return &keptNames{files: files, numbers: map[string]uint32{}, extents: map[uint64]extent{}}
}

// newKeptNames returns those of an object at a path, named in a way; nil if none are kept.
func newKeptNames(k Keeper, o *dwarfmap.Object, path, own, way string) *keptNames {
	files := filesOf(k, o, own)
	if files == "" {
		return nil
	}
	n := makeKeptNames(files)
	n.keeper, n.name = k, fmt.Sprintf("names\x00%s\x00%s", path, way)
	b, release := k.Load(n.name)
	if b == nil {
		return n
	}
	if n.read(b) {
		release(b[keptHeader:]) // all of it was looked at, a part will be again
		n.release = func() { release(b) }
	} else {
		release(b)
	}
	return n
}

// read takes what was kept, if it is whole and of these files.
func (n *keptNames) read(b []byte) bool {
	end := len(b) - keptSum
	if end < keptHeader || string(b[:len(keptMagic)]) != keptMagic {
		return false
	}
	word := func(i int) int { return int(binary.LittleEndian.Uint32(b[len(keptMagic)+4*i:])) }
	identity, places, functions, ends := word(0), word(1), word(2), word(3)
	if crc32.Checksum(b[:end], castagnoli) != binary.LittleEndian.Uint32(b[end:]) || end-keptHeader < identity+places+functions+ends {
		return false
	}
	b = b[keptHeader:end]
	if string(b[:identity]) != n.files {
		return false
	}
	b = b[identity:]
	n.places, b = b[:places], b[places:]
	n.functions, b = b[:functions], b[functions:]
	n.ends, n.texts = b[:ends], b[ends:]
	return n.sound()
}

// sound reports whether all records name texts that are there.
func (n *keptNames) sound() bool {
	last := uint32(0)
	for i := 0; i < len(n.ends); i += 4 {
		if len(n.ends)-i < 4 || n.end(i/4) < last {
			return false
		}
		last = n.end(i / 4)
	}
	for i := range n.len() {
		if _, p := n.record(i); int(max(p.file, p.fn)) >= len(n.ends)/4 {
			return false
		}
	}
	return int(last) <= len(n.texts) && len(n.places)%keptRecord == 0 && len(n.functions)%keptExtent == 0
}

// end returns where text i ends.
func (n *keptNames) end(i int) uint32 { return binary.LittleEndian.Uint32(n.ends[4*i:]) }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (n *keptNames) len() int { return len(n.places) / keptRecord }

// record returns record i.
func (n *keptNames) record(i int) (addr uint64, p keptPlace) {
	r, le := n.places[i*keptRecord:], binary.LittleEndian
	return le.Uint64(r), keptPlace{le.Uint32(r[8:]), le.Uint32(r[12:]), le.Uint32(r[16:]), le.Uint32(r[20:])}
}

// seek returns the index of the last record that begins at addr or in front of it, -1 if there is none. last is that of
// another one, which may be close.
func seek(records []byte, size, last int, addr uint64) int {
	n := len(records) / size
	beyond := func(i int) bool { return i >= n || binary.LittleEndian.Uint64(records[i*size:]) > addr }
	if !beyond(last) {
		for i := last; i < last+4; i++ {
			if beyond(i + 1) {
				return i
			}
		}
	}
	return sort.Search(n, beyond) - 1
}

// find returns the place of an address that is known.
func (n *keptNames) find(va uint64) (loc dwarfmap.Loc, end uint64, ok bool) {
	if i := seek(n.places, keptRecord, n.place, va); i >= 0 {
		n.place = i
		if addr, p := n.record(i); va-addr < uint64(p.size) {
			return dwarfmap.Loc{File: n.text(p.file), Func: n.text(p.fn), Line: int(p.line)}, addr + uint64(p.size), true
		}
	}
	p, ok := n.fresh.find(va)
	if ok {
		loc, end = dwarfmap.Loc{File: n.list[p.file], Func: n.list[p.fn], Line: int(p.line)}, p.addr+uint64(p.size)
	}
	return loc, end, ok
}

// add makes a place known that find does not find.
func (n *keptNames) add(va uint64, loc dwarfmap.Loc, end uint64) {
	n.fresh.add(freshPlace{va, keptPlace{uint32(min(max(end-va, 1), math.MaxUint32)), uint32(loc.Line), n.number(loc.File), n.number(loc.Func)}})
}

// number returns the number of a text, a new one if it has none.
func (n *keptNames) number(s string) uint32 {
	n.listTexts()
	i, ok := n.numbers[s]
	if !ok {
		i = uint32(len(n.list))
		n.numbers[s], n.list = i, append(n.list, s)
	}
	return i
}

// listTexts lists what was kept, for others to be added.
func (n *keptNames) listTexts() {
	if n.list != nil {
		return
	}
	n.list = make([]string, len(n.ends)/4, len(n.ends)/4+1)
	for i := range n.list {
		n.list[i] = n.text(uint32(i))
		n.numbers[n.list[i]] = uint32(i)
	}
}

// text returns the kept text with a number.
func (n *keptNames) text(i uint32) string {
	if n.shown == nil {
		n.shown = make([]string, len(n.ends)/4)
	}
	s := &n.shown[i]
	if *s == "" {
		from := uint32(0)
		if i > 0 {
			from = n.end(int(i) - 1)
		}
		*s = string(n.texts[from:n.end(int(i))])
	}
	return *s
}

// close keeps what o has told, if nothing was wrong and the files are what they were: to be asked for one place more
// takes as long the next time.
func (n *keptNames) close(o *dwarfmap.Object, own string) {
	if len(n.fresh)+len(n.extents) > 0 && o.Err() == nil && filesOf(n.keeper, o, own) == n.files {
		n.keeper.Save(n.name, n.write)
	}
	if n.release != nil {
		n.release()
	}
}

// write writes all places and extents.
func (n *keptNames) write(w io.Writer) error {
	n.listTexts()
	places := merged(n.places, keptRecord, n.freshRecords(), func(r []byte) uint64 { return addrOf(r) + uint64(binary.LittleEndian.Uint32(r[8:])) })
	functions := merged(n.functions, keptExtent, n.extentRecords(), func(r []byte) uint64 { return addrOf(r[8:]) })
	le := binary.LittleEndian
	var ends, texts []byte
	for _, s := range n.list {
		texts = append(texts, s...)
		ends = le.AppendUint32(ends, uint32(len(texts)))
	}
	if len(texts) > math.MaxUint32 {
		return fmt.Errorf("names of %d bytes", len(texts))
	}
	sum := crc32.New(castagnoli)
	out := bufio.NewWriter(io.MultiWriter(w, sum)) // which keeps the first error
	head := []byte(keptMagic)
	for _, size := range [4]int{len(n.files), length(places), length(functions), len(ends)} {
		head = le.AppendUint32(head, uint32(size))
	}
	out.Write(head)
	out.WriteString(n.files)
	for _, records := range [2]iter.Seq[[]byte]{places, functions} {
		for r := range records {
			out.Write(r)
		}
	}
	out.Write(ends)
	out.Write(texts)
	if err := out.Flush(); err != nil {
		return err
	}
	_, err := w.Write(le.AppendUint32(nil, sum.Sum32()))
	return err
}

// length returns how many bytes some records have together.
func length(records iter.Seq[[]byte]) (n int) {
	for r := range records {
		n += len(r)
	}
	return n
}

// freshRecords are the records of the places that this run has asked for, each until the next one.
func (n *keptNames) freshRecords() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		var r []byte
		le := binary.LittleEndian
		for p := range n.fresh.all() {
			r = le.AppendUint32(le.AppendUint32(le.AppendUint64(r[:0], p.addr), p.size), p.line)
			if r = le.AppendUint32(le.AppendUint32(r, p.file), p.fn); !yield(r) {
				return
			}
		}
	}
}

// extentRecords are those of the extents.
func (n *keptNames) extentRecords() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		var r []byte
		for _, lo := range slices.Sorted(maps.Keys(n.extents)) {
			if r = appendExtent(r[:0], n.extents[lo]); !yield(r) {
				return
			}
		}
	}
}

// addrOf is the address that a record begins with.
func addrOf(r []byte) uint64 { return binary.LittleEndian.Uint64(r) }

// merged are records of a size that were kept, which are in the order of addresses, and fresh ones at others, in order
// too. end is where a record's addresses end: none begins within another.
func merged(kept []byte, size int, fresh iter.Seq[[]byte], end func([]byte) uint64) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		known := uint64(0) // up to which address
		add := func(r []byte) bool {
			if addrOf(r) < known {
				return true
			}
			known = end(r)
			return yield(r)
		}
		left := kept
		for r := range fresh {
			for len(left) > 0 && addrOf(left) <= addrOf(r) {
				if !add(left[:size]) {
					return
				}
				left = left[size:]
			}
			if !add(r) {
				return
			}
		}
		for ; len(left) > 0 && add(left[:size]); left = left[size:] {
		}
	}
}
