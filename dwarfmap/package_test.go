package dwarfmap

import (
	"bytes"
	"encoding/binary"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// makeIndex makes a .debug_cu_index with a slot for each identifier, at its place in the list, and offsets and sizes of
// rows.
func makeIndex(version uint32, columns []uint32, ids []uint64, rows ...[]uint32) (b []byte) {
	le := binary.LittleEndian
	for _, n := range []uint32{version, uint32(len(columns)), uint32(len(rows) / 2), uint32(len(ids))} {
		b = le.AppendUint32(b, n)
	}
	for _, id := range ids {
		b = le.AppendUint64(b, id)
	}
	row := uint32(0)
	for _, id := range ids {
		if id == 0 {
			b = le.AppendUint32(b, 0)
			continue
		}
		row++
		b = le.AppendUint32(b, row)
	}
	for _, list := range append([][]uint32{columns}, rows...) {
		for _, n := range list {
			b = le.AppendUint32(b, n)
		}
	}
	return b
}

// TestUnitIndex: the example of how slots are searched, and what is no index.
func TestUnitIndex(t *testing.T) {
	// 0x5 and 0x100000001 both begin at slot 1 of 4; the second one's step is 1 as well.
	data := makeIndex(5, []uint32{sectInfo, sectAbbrev}, []uint64{0, 0x5, 0x100000001, 0}, []uint32{0, 0}, []uint32{16, 7}, []uint32{16, 7}, []uint32{8, 9})
	x, err := parseUnitIndex(data)
	require.NoError(t, err)
	effort := 100
	require.EqualValues(t, 1, x.row(0x5, &effort))
	require.EqualValues(t, 2, x.row(0x100000001, &effort))
	require.Zero(t, x.row(0x200000001, &effort))
	require.Equal(t, 100-1-2-2, effort)
	lo, hi := x.part(2, sectInfo)
	require.Equal(t, [2]uint64{16, 24}, [2]uint64{lo, hi})
	lo, hi = x.part(2, sectRnglists)
	require.Zero(t, lo+hi)

	for n := range data {
		_, err := parseUnitIndex(data[:n])
		require.ErrorContains(t, err, ".debug_cu_index: unexpected end")
	}
	le := binary.LittleEndian
	change := func(at int, n uint32) []byte {
		b := bytes.Clone(data)
		le.PutUint32(b[at:], n)
		return b
	}
	for want, b := range map[string][]byte{
		".debug_cu_index: version 3 is unknown":                               change(0, 3),
		".debug_cu_index: 3 slots are no power of two":                        change(12, 3),
		".debug_cu_index: 4294967295 rows of 2 columns are too many":          change(8, ^uint32(0)),
		".debug_cu_index: unexpected end":                                     change(12, 1<<31),
		".debug_cu_index: 2 rows of 4294967295 columns are too many":          change(4, ^uint32(0)),
		".debug_cu_index: 4294967295 rows of 4294967295 columns are too many": le.AppendUint32(le.AppendUint32(le.AppendUint32(le.AppendUint32(nil, 5), ^uint32(0)), ^uint32(0)), 1),
	} {
		_, err := parseUnitIndex(b)
		require.EqualError(t, err, want)
	}

	// A table without an empty slot is searched once, and for no longer than effort lasts.
	full, err := parseUnitIndex(makeIndex(2, []uint32{sectInfo}, []uint64{4, 1, 2, 3}, []uint32{0}, []uint32{0}, []uint32{0}, []uint32{0}, []uint32{0}, []uint32{0}, []uint32{0}, []uint32{0}))
	require.NoError(t, err)
	effort = 100
	require.Zero(t, full.row(8, &effort))
	require.Equal(t, 96, effort)
	effort = 1
	require.Zero(t, full.row(6, &effort))
}

// TestPackageBroken has packages of another build, or damaged ones: files of single units are looked for, and what is
// wrong is said.
func TestPackageBroken(t *testing.T) {
	ask := func(pack []byte, beside ...string) (found bool, problem string) {
		name := packaged(t, "inline5s", "inline5l.dwp")
		if pack != nil {
			require.NoError(t, os.WriteFile(name+".dwp", pack, 0o644))
		}
		for _, file := range beside {
			b, err := os.ReadFile("testdata/bin/" + file)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(name[:len(name)-len("prog")]+file, b, 0o644))
		}
		o := openPath(t, name)
		found = o.Inlined(o.text.lo+0x54) != nil
		if o.Err() != nil {
			problem = o.Err().Error()
		}
		return found, problem
	}
	found, problem := ask(nil)
	require.True(t, found, problem)
	require.Empty(t, problem)
	other, err := os.ReadFile("testdata/bin/inline4l.dwp")
	require.NoError(t, err)
	found, problem = ask(other)
	require.False(t, found)
	require.Contains(t, problem, "prog.dwp has no unit 0x42a6f715a007657: it is of another build")
	found, problem = ask(other, "inline5s-inline.dwo")
	require.True(t, found, problem)
	require.Empty(t, problem)
	found, problem = ask([]byte("no ELF file"), "inline5s-inline.dwo")
	require.True(t, found, problem)
	require.Contains(t, problem, "inlined functions may be unknown: ")
	good, err := os.ReadFile("testdata/bin/inline5l.dwp")
	require.NoError(t, err)
	m, err := newImage(bytes.NewReader(good), "x", newAllowance(), nil)
	require.NoError(t, err)
	index := m.section(".debug_cu_index")
	for at := range index.Size {
		bad := bytes.Clone(good)
		bad[index.Offset+at] ^= 0x80
		found, problem := ask(bad)
		if at < 16+12*4 { // what is behind says where parts of sections are
			require.True(t, found || problem != "")
		}
	}
}

// FuzzPackage has indexes and units of all kinds.
func FuzzPackage(f *testing.F) {
	for _, name := range []string{"4p", "4l", "5l"} {
		data, err := os.ReadFile("testdata/bin/inline" + name + ".dwp")
		if err != nil {
			f.Fatal(err)
		}
		m, err := newImage(bytes.NewReader(data), "x", newAllowance(), nil)
		if err != nil {
			f.Fatal(err)
		}
		var seed [][]byte
		for _, section := range []string{".debug_cu_index", ".debug_info.dwo", ".debug_abbrev.dwo"} {
			b, err := m.data(section)
			if err != nil {
				f.Fatal(err)
			}
			seed = append(seed, b)
		}
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, index, info, abbrev []byte) {
		x, err := parseUnitIndex(index)
		if err != nil {
			return
		}
		o := openELF(t, makeELF(t, 0x1000, elfSection{name: ".debug_info.dwo", data: info}, elfSection{name: ".debug_abbrev.dwo", data: abbrev}))
		d, err := o.readInfo(o.main, ".dwo")
		require.NoError(t, err)
		d.pack = x
		before := d.effort
		for i := range min(x.slots, 1000) {
			id := entryOf(x.ids, i, 8)
			if u := d.packed(o, id); u != nil {
				require.Equal(t, id, u.skeleton.id)
				require.LessOrEqual(t, u.end, uint64(len(info)))
				u.complete(&infoUnit{})
				w := inlineWalk{o: o, d: d, u: u, code: &inlinedCode{d: d, u: u, entries: map[uint64][]int32{}, made: map[int32]*Inlined{}}}
				if err := w.walk(); err != nil {
					require.NotErrorIs(t, err, ErrStopped)
				}
			}
		}
		require.GreaterOrEqual(t, d.effort, -1-before-len(abbrev)-len(info))
		require.GreaterOrEqual(t, o.room.left, int64(0))
	})
}
