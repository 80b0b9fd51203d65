package profiler

import (
	"bytes"
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
	// Load returns what was kept under a name, nil if nothing was, and what releases it.
	Load(name string) (b []byte, release func())
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
		o.names.fresh[va] = keptPlace{loc, end}
	}
	return loc, end
}

// keptNames are the places in an object that runs before this one have asked for, and those that this one does. They are good for one file with one debug file, and for one way of
// naming.
type keptNames struct {
	keeper Keeper
	name   string // under which they are kept
	// files is the identity of the files that they come from, as it was before these were read.
	files string
	// places are records of what was kept, ends and texts its texts: where each ends, and all of them. shown are those that were asked for.
	places, ends, texts []byte
	shown               map[uint32]string
	release             func()
	fresh               map[uint64]keptPlace
}

// A keptPlace is that of the addresses up to an end.
type keptPlace struct {
	loc dwarfmap.Loc
	end uint64
}

// A record is an address, how many have its place from there on, the line, and the numbers of the texts of file and function; all little-endian, in the order of addresses. A file
// begins with the magic, a checksum of what follows, and the numbers of bytes of identity, records and ends.
const (
	keptMagic  = "cgnames\x01"
	keptHeader = len(keptMagic) + 4*4
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

// newKeptNames returns those of an object at a path, named in a way; nil if none are kept.
func newKeptNames(k Keeper, o *dwarfmap.Object, path, own, way string) *keptNames {
	files := filesOf(k, o, own)
	if files == "" {
		return nil
	}
	n := &keptNames{keeper: k, name: fmt.Sprintf("names\x00%s\x00%s", path, way), files: files, shown: map[uint32]string{}, fresh: map[uint64]keptPlace{}}
	b, release := k.Load(n.name)
	if b == nil {
		return n
	}
	if n.read(b) {
		n.release = release
	} else {
		release()
	}
	return n
}

// read takes what was kept, if it is whole and of these files.
func (n *keptNames) read(b []byte) bool {
	if len(b) < keptHeader || string(b[:len(keptMagic)]) != keptMagic {
		return false
	}
	word := func(i int) int { return int(binary.LittleEndian.Uint32(b[len(keptMagic)+4*i:])) }
	identity, places, ends := word(1), word(2), word(3)
	if crc32.Checksum(b[len(keptMagic)+4:], castagnoli) != uint32(word(0)) || len(b)-keptHeader < identity+places+ends {
		return false
	}
	b = b[keptHeader:]
	if string(b[:identity]) != n.files {
		return false
	}
	b = b[identity:]
	n.places, n.ends, n.texts = b[:places], b[places:places+ends], b[places+ends:]
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
		if _, _, _, file, fn := n.record(i); int(max(file, fn)) >= len(n.ends)/4 {
			return false
		}
	}
	return int(last) <= len(n.texts) && len(n.places)%keptRecord == 0
}

// end returns where text i ends.
func (n *keptNames) end(i int) uint32 { return binary.LittleEndian.Uint32(n.ends[4*i:]) }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (n *keptNames) len() int { return len(n.places) / keptRecord }

// record returns the parts of record i.
func (n *keptNames) record(i int) (addr uint64, size, line, file, fn uint32) {
	r, le := n.places[i*keptRecord:], binary.LittleEndian
	return le.Uint64(r), le.Uint32(r[8:]), le.Uint32(r[12:]), le.Uint32(r[16:]), le.Uint32(r[20:])
}

// find returns the place of an address that is known.
func (n *keptNames) find(va uint64) (loc dwarfmap.Loc, end uint64, ok bool) {
	i := sort.Search(n.len(), func(i int) bool { return binary.LittleEndian.Uint64(n.places[i*keptRecord:]) > va }) - 1
	if i >= 0 {
		if addr, size, line, file, fn := n.record(i); va-addr < uint64(size) {
			return dwarfmap.Loc{File: n.text(file), Func: n.text(fn), Line: int(line)}, addr + uint64(size), true
		}
	}
	p, ok := n.fresh[va]
	return p.loc, p.end, ok
}

// text returns the text with a number.
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
	if len(n.fresh) > 0 && o.Err() == nil && filesOf(n.keeper, o, own) == n.files {
		n.keeper.Save(n.name, n.write)
	}
	if n.release != nil {
		n.release()
	}
}

// write writes all places.
func (n *keptNames) write(w io.Writer) error {
	all := maps.Clone(n.fresh)
	for i := range n.len() {
		addr, size, line, file, fn := n.record(i)
		all[addr] = keptPlace{dwarfmap.Loc{File: n.text(file), Func: n.text(fn), Line: int(line)}, addr + uint64(size)}
	}
	var places, ends, texts []byte
	numbers := map[string]uint32{}
	number := func(s string) uint32 {
		i, ok := numbers[s]
		if !ok {
			i = uint32(len(numbers))
			numbers[s] = i
			texts = append(texts, s...)
			ends = binary.LittleEndian.AppendUint32(ends, uint32(len(texts)))
		}
		return i
	}
	known := uint64(0) // up to which address
	for _, addr := range slices.Sorted(maps.Keys(all)) {
		p := all[addr]
		if addr < known {
			continue
		}
		size := min(p.end-addr, math.MaxUint32)
		known = addr + size
		places = binary.LittleEndian.AppendUint64(places, addr)
		for _, x := range [...]uint32{uint32(size), uint32(p.loc.Line), number(p.loc.File), number(p.loc.Func)} {
			places = binary.LittleEndian.AppendUint32(places, x)
		}
	}
	if len(texts) > math.MaxUint32 || len(places) > math.MaxUint32 {
		return fmt.Errorf("names of %d bytes", len(texts))
	}
	var body []byte
	for _, part := range [...]int{len(n.files), len(places), len(ends)} {
		body = binary.LittleEndian.AppendUint32(body, uint32(part))
	}
	body = slices.Concat(body, []byte(n.files), places, ends, texts)
	head := binary.LittleEndian.AppendUint32([]byte(keptMagic), crc32.Checksum(body, castagnoli))
	_, err := io.Copy(w, io.MultiReader(bytes.NewReader(head), bytes.NewReader(body)))
	return err
}
