package profiler

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"math"
	"slices"
	"sort"

	"github.com/cgemu/cgemu/dwarfmap"
)

// A Keeper keeps files between runs of this binary.
type Keeper interface {
	// Load returns what was kept under a name, nil if nothing was. release gives back the memory of a part of it, or of all, which must not be looked at any more.
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

// placeOf returns the place of an address, and where what has the same place ends. linkage says that entries of procedure linkage tables have names.
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

// keptNames are the places and the extents of functions in an object that runs before this one have asked for, and those that this one does. They are good for one file with one
// debug file, and for one way of naming.
type keptNames struct {
	keeper Keeper
	name   string // under which they are kept
	// files is the identity of the files that they come from, as it was before these were read.
	files string
	// places and functions are records of what was kept, ends and texts its texts: where each ends, and all of them. shown are those that were asked for.
	places, functions, ends, texts []byte
	shown                          map[uint32]string
	release                        func()
	// place and function are the indices of the records that were found last.
	place, function int
	// fresh are the places that this run has asked for, by address. From the first one on list has all texts, and numbers tells which is where.
	fresh   map[uint64]keptPlace
	numbers map[string]uint32
	list    []string
	// extents are those that this run has asked for, by where they begin.
	extents map[uint64]extent
}

// A keptPlace is how many addresses have it, its line, and the numbers of the texts of file and function.
type keptPlace struct{ size, line, file, fn uint32 }

// A record is an address and a keptPlace; all little-endian, in the order of addresses. A file
// begins with the magic, a checksum of what follows, and the numbers of bytes of identity, places, functions and ends.
const (
	keptMagic  = "cgnames\x02"
	keptHeader = len(keptMagic) + 5*4
	keptRecord = 8 + 4*4
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
	return &keptNames{files: files, shown: map[uint32]string{}, fresh: map[uint64]keptPlace{}, numbers: map[string]uint32{}, extents: map[uint64]extent{}}
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
		n.release = func() { release(b) }
	} else {
		release(b)
	}
	return n
}

// read takes what was kept, if it is whole and of these files.
func (n *keptNames) read(b []byte) bool {
	if len(b) < keptHeader || string(b[:len(keptMagic)]) != keptMagic {
		return false
	}
	word := func(i int) int { return int(binary.LittleEndian.Uint32(b[len(keptMagic)+4*i:])) }
	identity, places, functions, ends := word(1), word(2), word(3), word(4)
	if crc32.Checksum(b[len(keptMagic)+4:], castagnoli) != uint32(word(0)) || len(b)-keptHeader < identity+places+functions+ends {
		return false
	}
	b = b[keptHeader:]
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

// seek returns the index of the last record that begins at addr or in front of it, -1 if there is none. last is that of another one, which may be close.
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
	p, ok := n.fresh[va]
	if ok {
		loc, end = dwarfmap.Loc{File: n.list[p.file], Func: n.list[p.fn], Line: int(p.line)}, va+uint64(p.size)
	}
	return loc, end, ok
}

// add makes a place known.
func (n *keptNames) add(va uint64, loc dwarfmap.Loc, end uint64) {
	n.fresh[va] = keptPlace{uint32(min(end-va, math.MaxUint32)), uint32(loc.Line), n.number(loc.File), n.number(loc.Func)}
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
	s, ok := n.shown[i]
	if !ok {
		from := uint32(0)
		if i > 0 {
			from = n.end(int(i) - 1)
		}
		s = string(n.texts[from:n.end(int(i))])
		n.shown[i] = s
	}
	return s
}

// close keeps what o has told, if nothing was wrong and the files are what they were: to be asked for one place more takes as long the next time.
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
	le := binary.LittleEndian
	places := merged(n.places, keptRecord, sorted(n.fresh), func(b []byte, addr uint64) []byte {
		p := n.fresh[addr]
		b = le.AppendUint32(le.AppendUint32(le.AppendUint64(b, addr), p.size), p.line)
		return le.AppendUint32(le.AppendUint32(b, p.file), p.fn)
	}, func(r []byte) uint64 { return le.Uint64(r) + uint64(le.Uint32(r[8:])) })
	functions := merged(n.functions, keptExtent, sorted(n.extents), func(b []byte, lo uint64) []byte {
		return appendExtent(b, n.extents[lo])
	}, func(r []byte) uint64 { return le.Uint64(r[8:]) })
	var ends, texts []byte
	for _, s := range n.list {
		texts = append(texts, s...)
		ends = le.AppendUint32(ends, uint32(len(texts)))
	}
	if max(len(places), len(functions), len(texts)) > math.MaxUint32 {
		return fmt.Errorf("names of %d bytes", len(texts))
	}
	head := le.AppendUint32(nil, uint32(len(n.files)))
	for _, part := range [][]byte{places, functions, ends} {
		head = le.AppendUint32(head, uint32(len(part)))
	}
	sum := uint32(0)
	parts := [][]byte{append(head, n.files...), places, functions, ends, texts}
	for _, part := range parts {
		sum = crc32.Update(sum, castagnoli, part)
	}
	for _, part := range append([][]byte{le.AppendUint32([]byte(keptMagic), sum)}, parts...) {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// sorted are the keys of m, in order.
func sorted[V any](m map[uint64]V) []uint64 { return slices.Sorted(maps.Keys(m)) }

// merged returns records of a size that were kept, which begin with an address and are in order, with those at other addresses, which add appends. end is where a
// record's addresses end: none begins within another.
func merged(kept []byte, size int, addrs []uint64, add func([]byte, uint64) []byte, end func([]byte) uint64) []byte {
	all := make([]byte, 0, len(kept)+size*len(addrs))
	known := uint64(0) // up to which address
	for len(kept) > 0 || len(addrs) > 0 {
		from := len(all)
		var at uint64
		if len(kept) > 0 {
			at = binary.LittleEndian.Uint64(kept)
		}
		if len(kept) == 0 || len(addrs) > 0 && addrs[0] < at {
			at = addrs[0]
			all, addrs = add(all, at), addrs[1:]
		} else {
			all, kept = append(all, kept[:size]...), kept[size:]
		}
		if at < known {
			all = all[:from]
		} else {
			known = end(all[from:])
		}
	}
	return all
}
