//go:build linux

package mem

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
)

// forkFile makes a file of three pages, which begin with 1, 2 and 3.
func forkFile(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	b := make([]byte, 3*emu.PageSize)
	b[0], b[emu.PageSize], b[2*emu.PageSize] = 1, 2, 3
	_, err = f.Write(b)
	require.NoError(t, err)
	return f
}

func fork(t *testing.T, m *Space) *Space {
	t.Helper()
	n, err := m.Fork()
	require.NoError(t, err)
	t.Cleanup(func() { n.Close() })
	return n
}

func peek(t *testing.T, m *Space, a emu.Addr) byte {
	t.Helper()
	var b [1]byte
	require.Equal(t, 1, m.Read(a, b[:]), "%v", a)
	return b[0]
}

func poke(t *testing.T, m *Space, a emu.Addr, x byte) {
	t.Helper()
	require.Equal(t, 1, m.Write(a, []byte{x}), "%v", a)
}

func TestFork(t *testing.T) {
	const anon, private, shared, hidden, big = 0x100000, 0x200000, 0x300000, 0x400000, 0x100000000
	m := newSpace(t)
	f := forkFile(t)
	require.NoError(t, m.Map(VMA{Lo: anon, Hi: anon + 0x10000, Prot: Read | Write}, nil))
	require.NoError(t, m.Map(VMA{Lo: private, Hi: private + 0x3000, Prot: Read | Write | Exec, Path: "/f"}, f))
	require.NoError(t, m.Map(VMA{Lo: shared, Hi: shared + 0x2000, Prot: Read | Write, Shared: true, Off: 0x1000, Path: "/f"}, f))
	require.NoError(t, m.Map(VMA{Lo: hidden, Hi: hidden + 0x1000, Prot: Read | Write}, nil))
	require.NoError(t, m.Map(VMA{Lo: big, Hi: big + 64<<30, Prot: Read | Write}, nil))
	poke(t, m, anon+0x3000, 7)
	poke(t, m, private+0x1000, 8)
	poke(t, m, hidden, 9)
	poke(t, m, big+40<<30, 10)
	require.NoError(t, m.Protect(hidden, hidden+0x1000, 0))
	m.Guard(anon + 0x3000)

	n := fork(t, m)
	assert.Equal(t, m.VMAs(), n.VMAs())
	assert.EqualValues(t, 7, peek(t, n, anon+0x3000))
	assert.EqualValues(t, []byte{1, 8, 3}, []byte{peek(t, n, private), peek(t, n, private+0x1000), peek(t, n, private+0x2000)})
	assert.EqualValues(t, []byte{2, 3}, []byte{peek(t, n, shared), peek(t, n, shared+0x1000)})
	assert.EqualValues(t, 10, peek(t, n, big+40<<30))
	assert.Zero(t, n.Read(hidden, make([]byte, 1)))
	require.NoError(t, n.Protect(hidden, hidden+0x1000, Read))
	assert.EqualValues(t, 9, peek(t, n, hidden))
	assert.Zero(t, m.Read(hidden, make([]byte, 1)), "is as it was")
	assert.True(t, m.Guarded(anon+0x3000))
	assert.False(t, n.Guarded(anon+0x3000))

	poke(t, n, anon+0x3000, 17)
	poke(t, n, private+0x2000, 18)
	poke(t, n, shared, 19)
	assert.EqualValues(t, 7, peek(t, m, anon+0x3000))
	assert.EqualValues(t, 3, peek(t, m, private+0x2000))
	assert.EqualValues(t, 19, peek(t, m, shared), "is shared")
	poke(t, m, shared+0x1000, 20)
	assert.EqualValues(t, 20, peek(t, n, shared+0x1000))
	if HostPage == emu.PageSize {
		assert.EqualValues(t, 20, peek(t, m, private+0x2000), "the file's page was not copied")
	}

	o := fork(t, n)
	assert.EqualValues(t, 17, peek(t, o, anon+0x3000))
	assert.EqualValues(t, 18, peek(t, o, private+0x2000))
	assert.EqualValues(t, 19, peek(t, o, shared))
}

// TestForkFiles checks that files are closed when no Space has them mapped.
func TestForkFiles(t *testing.T) {
	m, err := (&Group{Checked: checked}).New()
	require.NoError(t, err)
	f := forkFile(t)
	require.NoError(t, m.Map(VMA{Lo: 0x100000, Hi: 0x103000, Prot: Read, Path: "/f"}, f))
	require.NoError(t, m.Map(VMA{Lo: 0x200000, Hi: 0x203000, Prot: Read, Path: "/f"}, f))
	require.Len(t, m.files, 1)
	kept := m.VMAs()[0].back.file
	n := fork(t, m)
	require.NoError(t, m.Unmap(0, m.Limit()))
	assert.Empty(t, m.files)
	_, err = kept.Stat()
	require.NoError(t, err, "the other Space has it")
	require.NoError(t, n.Unmap(0x100000, 0x101000))
	o := fork(t, n)
	assert.EqualValues(t, 2, peek(t, o, 0x101000))
	require.NoError(t, n.Close())
	require.NoError(t, o.Close())
	_, err = kept.Stat()
	require.Error(t, err)
	require.NoError(t, m.Close())
}

// TestOfFile asks for pages of a private mapping that nobody wrote to, that was written to, and that was put back; for
// the page at the file's end, and one behind.
func TestOfFile(t *testing.T) {
	m := newSpace(t)
	f := forkFile(t)
	require.NoError(t, f.Truncate(3*emu.PageSize-100))
	require.NoError(t, m.Map(VMA{Lo: 0x100000, Hi: 0x103000, Prot: Read | Write, Off: 0x1000, Path: "/f"}, f))
	require.NoError(t, m.Map(VMA{Lo: 0x200000, Hi: 0x201000, Prot: Read | Write, Shared: true, Path: "/f"}, f))
	require.NoError(t, m.Map(VMA{Lo: 0x300000, Hi: 0x301000, Prot: Read | Write}, nil))
	ofFile := func() (of []bool) {
		for _, a := range []emu.Addr{0x100000, 0x101fff, 0x102000, 0x200000, 0x300000, 0x400000} {
			of = append(of, m.OfFile(a))
		}
		return of
	}
	require.Equal(t, []bool{true, true, true, true, false, false}, ofFile())
	poke(t, m, 0x100800, 1)
	poke(t, m, 0x101fff, 1) // behind the end
	poke(t, m, 0x200000, 9)
	require.NoError(t, m.Protect(0x100000, 0x102000, 0))
	require.Equal(t, []bool{false, false, true, true, false, false}, ofFile())
	require.NoError(t, m.Protect(0x100000, 0x102000, Read|Write))
	poke(t, m, 0x100800, 0)
	require.Equal(t, []bool{true, false, true, true, false, false}, ofFile())
}

// TestManyFiles checks that a Space that maps one file after the other does not keep them all.
func TestManyFiles(t *testing.T) {
	m := newSpace(t)
	require.NoError(t, m.Map(VMA{Lo: 0x200000, Hi: 0x203000, Prot: Read, Path: "/f"}, forkFile(t)))
	for range 3 * maxFiles {
		require.NoError(t, m.Map(VMA{Lo: 0x100000, Hi: 0x103000, Prot: Read, Path: "/f"}, forkFile(t)))
	}
	assert.LessOrEqual(t, len(m.files), maxFiles)
	n := fork(t, m)
	assert.EqualValues(t, 3, peek(t, n, 0x202000))
}
