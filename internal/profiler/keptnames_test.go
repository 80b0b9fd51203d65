package profiler

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/dwarfmap"
)

// A memory keeps files in memory. Files have the identities that it says.
type memory struct {
	files      map[string][]byte
	identities map[string]string
	saved      int
}

func (m *memory) Load(name string) ([]byte, func([]byte)) { return m.files[name], func([]byte) {} }

func (m *memory) Save(name string, write func(io.Writer) error) {
	var b bytes.Buffer
	if write(&b) == nil {
		m.files[name] = b.Bytes()
		m.saved++
	}
}

func (m *memory) Identify(path string) string { return m.identities[path] }

const keptObject = "../../dwarfmap/testdata/bin/inline5"

// openKept opens keptObject with names kept in m.
func openKept(t testing.TB, m *memory, names dwarfmap.Options) (*Objects, *object) {
	o := NewObjects(names)
	o.Keeper, o.linkage = m, true
	o.HostPath = func(guest string) (string, bool) { return guest, true }
	got := o.open(keptObject)
	require.NotNil(t, got)
	return o, got
}

// TestKeptNames asks for all places of an object twice: the second time all are known, and the same.
func TestKeptNames(t *testing.T) {
	m := &memory{files: map[string][]byte{}, identities: map[string]string{keptObject: "first"}}
	plain, err := dwarfmap.Open(keptObject, dwarfmap.Options{})
	require.NoError(t, err)
	defer plain.Close()
	ask := func(names dwarfmap.Options, fresh bool) {
		t.Helper()
		objects, o := openKept(t, m, names)
		for va := uint64(0x401000); va < 0x403000; va++ {
			want, wantEnd := plain.LookupRun(va)
			if want.Func == dwarfmap.Unknown {
				if name := plain.LinkageName(va); name != "" {
					want.Func = name
				}
			}
			got, end := o.placeOf(va, true)
			require.Equal(t, want, got, "%#x", va)
			require.Equal(t, wantEnd, end, "%#x", va)
			require.Equal(t, (&object{Object: plain}).readExtent(va, true), o.extentOf(va, true), "%#x", va)
		}
		require.Equal(t, fresh, len(o.names.fresh) > 0)
		require.Equal(t, fresh, len(o.names.extents) > 0)
		require.Empty(t, objects.Close())
	}
	ask(dwarfmap.Options{}, true)
	require.Equal(t, 1, m.saved)
	ask(dwarfmap.Options{}, false)
	ask(dwarfmap.Options{Demangle: true}, true) // other names
	require.Len(t, m.files, 2)
	m.identities[keptObject] = "second"
	ask(dwarfmap.Options{}, true)
	ask(dwarfmap.Options{}, false)
	require.Equal(t, 3, m.saved)
}

// TestNamesNotKept has a file change, and names that come from elsewhere.
func TestNamesNotKept(t *testing.T) {
	m := &memory{files: map[string][]byte{}, identities: map[string]string{keptObject: "first"}}
	objects, o := openKept(t, m, dwarfmap.Options{})
	o.placeOf(0x401000, true)
	m.identities[keptObject] = "changed meanwhile"
	objects.Close()
	require.Zero(t, m.saved)
	over := make(chan struct{})
	objects, o = openKept(t, m, dwarfmap.Options{Done: over})
	o.placeOf(0x401000, true)
	close(over)
	objects.Close()
	require.Zero(t, m.saved)
	for _, names := range []dwarfmap.Options{
		{Open: func(path string) (*os.File, error) { return os.Open(path) }},
		{Fetch: func(string, <-chan struct{}) string { return "" }},
	} {
		objects, o = openKept(t, m, names)
		require.Nil(t, o.names)
		objects.Close()
	}
	m.identities = nil
	objects, o = openKept(t, m, dwarfmap.Options{})
	require.Nil(t, o.names)
	objects.Close()
}

// keptFile is a file of names with some records.
func keptFile(t testing.TB) []byte {
	n := makeKeptNames("first")
	n.add(1, dwarfmap.Loc{File: "a.c", Func: "f", Line: 1}, 5)
	for _, va := range [...]uint64{5, 7} {
		n.add(va, dwarfmap.Loc{File: "a.c", Func: "g", Line: 2}, 9)
	}
	n.add(20, dwarfmap.Loc{File: dwarfmap.Unknown, Func: dwarfmap.Unknown}, 21)
	n.extents[1] = extent{1, 9, 0, parks}
	n.extents[20] = extent{20, math.MaxUint64, unnamedCode, 0}
	var b bytes.Buffer
	require.NoError(t, n.write(&b))
	return b.Bytes()
}

// TestBrokenNames cuts a file short, and changes each byte of it: then it is not used.
func TestBrokenNames(t *testing.T) {
	whole := keptFile(t)
	read := func(b []byte) bool { return (&keptNames{files: "first"}).read(b) }
	require.True(t, read(whole))
	require.False(t, (&keptNames{files: "second"}).read(whole))
	for n := range whole {
		require.False(t, read(whole[:n]))
		b := bytes.Clone(whole)
		b[n] ^= 1
		require.False(t, read(b), "byte %d", n)
	}
}

// FuzzKeptNames reads what has the right checksum and may have anything else.
func FuzzKeptNames(f *testing.F) {
	f.Add(keptFile(f), uint64(7))
	f.Fuzz(func(t *testing.T, b []byte, va uint64) {
		if end := len(b) - keptSum; end >= keptHeader {
			b = bytes.Clone(b)
			copy(b, keptMagic)
			binary.LittleEndian.PutUint32(b[end:], crc32.Checksum(b[:end], castagnoli))
		}
		n := makeKeptNames("first")
		if n.read(b) {
			n.find(va)
			n.extent(va)
			require.NoError(t, n.write(io.Discard))
		}
	})
}

// TestNamesOfTwoRuns has two runs ask for places and functions one after the other: what both know is kept, each text
// once.
func TestNamesOfTwoRuns(t *testing.T) {
	m := &memory{files: map[string][]byte{}, identities: map[string]string{keptObject: "first"}}
	ask := func(from, step uint64) (fresh int) {
		objects, o := openKept(t, m, dwarfmap.Options{})
		for va := from; va < 0x403000; va += step {
			o.placeOf(va, true)
			o.extentOf(va, true)
		}
		fresh = len(o.names.fresh) + len(o.names.extents)
		require.Empty(t, objects.Close())
		return fresh
	}
	require.NotZero(t, ask(0x401000, 0x50))
	require.NotZero(t, ask(0x401000, 0x31))
	require.Zero(t, ask(0x401000, 0x50))
	require.Zero(t, ask(0x401000, 0x31))
	require.Equal(t, 2, m.saved)
	_, o := openKept(t, m, dwarfmap.Options{})
	o.names.listTexts()
	require.Len(t, o.names.numbers, len(o.names.list))
}

// TestSeek looks addresses up from every record on.
func TestSeek(t *testing.T) {
	begins := []uint64{3, 5, 6, 7, 8, 9, 20, 40}
	var records []byte
	for _, at := range begins {
		records = append(binary.LittleEndian.AppendUint64(records, at), 0xff)
	}
	for last := range 10 {
		for addr := range uint64(50) {
			i, found := slices.BinarySearch(begins, addr)
			if !found {
				i--
			}
			require.Equal(t, i, seek(records, 9, last, addr), "%d from %d", addr, last)
		}
	}
	require.Equal(t, -1, seek(nil, 9, 0, 7))
}
