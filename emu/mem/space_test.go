//go:build linux

package mem

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/cgemu/cgemu/emu"
)

const page = emu.PageSize

func newSpace(t *testing.T) *Space {
	t.Helper()
	if HostPage > emu.PageSize && !checked {
		t.Skip("this host's pages are larger than the guest's")
	}
	m, err := (&Group{Checked: checked}).New()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	return m
}

// mapAnon maps n anonymous pages at a.
func mapAnon(t *testing.T, m *Space, a emu.Addr, n int, prot Prot) {
	t.Helper()
	require.NoError(t, m.Map(VMA{Lo: a, Hi: a + emu.Addr(n*page), Prot: prot}, nil))
}

func tempFile(t *testing.T, content []byte) *os.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, content, 0o600))
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

func TestReadAndWriteStopWhereMemoryDoes(t *testing.T) {
	m := newSpace(t)
	mapAnon(t, m, 0x10000, 2, Read|Write)
	mapAnon(t, m, 0x12000, 1, Read)
	data := bytes.Repeat([]byte("cgemu"), 3000)
	require.Equal(t, 2*page-10, m.Write(0x1000a, data), "writes end at the read-only page")
	got := make([]byte, len(data))
	require.Equal(t, 3*page-10, m.Read(0x1000a, got))
	require.Equal(t, data[:2*page-10], got[:2*page-10])
	require.Zero(t, m.Read(0x20000, got))
	require.Zero(t, m.Write(0, data))
	require.Zero(t, m.Fetch(0x10000, got), "nothing is executable")
	require.Equal(t, 5, m.Poke(0x12000, data[:5]), "Poke does not ask for permission")
	require.Zero(t, m.View(0x12000, 5, Write).Len())
	require.EqualValues(t, 16, m.View(0x11ff0, 100, Write).Len())
	for _, a := range []emu.Addr{^emu.Addr(0), 1<<47 - 1, m.Limit()} {
		require.Zero(t, m.Read(a, make([]byte, 8)), a)
		require.Zero(t, m.Write(a, make([]byte, 8)), a)
	}
}

// TestPeek reads what may not be read, and leaves it as it was; so do pages that are guarded.
func TestPeek(t *testing.T) {
	m := newSpace(t)
	mapAnon(t, m, 0x10000, 1, Read|Write|Exec)
	mapAnon(t, m, 0x11000, 1, Read|Write)
	data := bytes.Repeat([]byte("peek"), page/2)
	require.Equal(t, 2*page, m.Write(0x10000, data))
	m.Guard(0x10000, 0x11000)
	require.NoError(t, m.Protect(0x11000, 0x12000, 0))
	got := make([]byte, 3*page)
	require.Equal(t, 2*page, m.Peek(0x10000, got))
	require.Equal(t, data, got[:2*page])
	require.Equal(t, page-1, m.Peek(0x11001, got))
	require.Equal(t, page, m.Read(0x10000, got), "what may not be read can still not be")
	require.Zero(t, m.Peek(0x12000, got))
	require.Equal(t, 4, m.Poke(0x11000, []byte("poke")))
	require.Equal(t, 4, m.Peek(0x11000, got[:4]))
	require.Equal(t, "poke", string(got[:4]))
}

// TestNowhere has the host's kernel fail to read and fill memory that is not there, whatever its size.
func TestNowhere(t *testing.T) {
	m := newSpace(t)
	in, out, err := os.Pipe()
	require.NoError(t, err)
	defer in.Close()
	defer out.Close()
	_, err = out.Write([]byte("something"))
	require.NoError(t, err)
	for _, n := range []uint64{1, page, page + 1, 2 << 30} {
		b := m.Nowhere(n).ForHost()
		require.Len(t, b, int(n))
		_, err := unix.Read(int(in.Fd()), b)
		require.ErrorIs(t, err, unix.EFAULT)
		for _, part := range [][]byte{b, b[n-1:]} {
			_, err = unix.Write(int(out.Fd()), part)
			require.ErrorIs(t, err, unix.EFAULT, "%d bytes", n)
		}
	}
}

func TestStringsAndWords(t *testing.T) {
	m := newSpace(t)
	mapAnon(t, m, 0x10000, 1, Read|Write)
	m.Write(0x10ffb, []byte("abcd\x00"))
	s, ok := m.ReadString(0x10ffb, 100)
	require.True(t, ok)
	require.Equal(t, "abcd", s)
	m.Write(0x10ffb, []byte("abcde"))
	_, ok = m.ReadString(0x10ffb, 100)
	require.False(t, ok, "no terminator before memory ends")
	s, ok = m.ReadString(0x10ffb, 3)
	require.True(t, ok)
	require.Equal(t, "abc", s)
	require.True(t, m.WriteUint64(0x10008, 1<<40|5))
	x, ok := m.ReadUint64(0x10008)
	require.True(t, ok)
	require.EqualValues(t, 1<<40|5, x)
	_, ok = m.ReadUint32(0x10ffe)
	require.False(t, ok)
}

func TestFileMappings(t *testing.T) {
	m := newSpace(t)
	f := tempFile(t, bytes.Repeat([]byte{7}, page+100))
	private := VMA{Lo: 0x10000, Hi: 0x13000, Prot: Read | Write, Path: "/x", Dev: 1, Ino: 2}
	shared := private
	shared.Lo, shared.Hi, shared.Shared = 0x20000, 0x21000, true
	require.NoError(t, m.Map(private, f))
	require.NoError(t, m.Map(shared, f))
	m.Write(0x10000, []byte{1})
	m.Write(0x20001, []byte{2})
	m.group.Sync()
	got := make([]byte, 2)
	_, err := f.ReadAt(got, 0)
	require.NoError(t, err)
	require.Equal(t, []byte{7, 2}, got, "private writes stay, shared ones go through")
	buf := make([]byte, 3*page)
	if checked || runtime.GOARCH == "amd64" { // qemu-aarch64 does not tell where a SIGBUS was
		require.Equal(t, 2*page, m.Read(0x10000, buf), "what lies behind the file's last page cannot be read")
	}
	require.NoError(t, m.Discard(0x10000, 0x11000))
	m.Read(0x10000, buf[:2])
	require.Equal(t, []byte{7, 2}, buf[:2], "the file's bytes are back")
}

func TestProtectSplitsAndJoins(t *testing.T) {
	m := newSpace(t)
	mapAnon(t, m, 0x10000, 4, Read|Write)
	require.NoError(t, m.Protect(0x11000, 0x12000, Read))
	require.Len(t, m.VMAs(), 3)
	require.NoError(t, m.Protect(0x11000, 0x12000, Read|Write))
	require.Len(t, m.VMAs(), 1)
	require.ErrorIs(t, m.Protect(0x13000, 0x15000, Read), ErrNotHere)
	require.Equal(t, Read, m.VMA(0x13000).Prot, "what lies before the hole has changed")
	require.ErrorIs(t, m.Map(VMA{Lo: 0x10001, Hi: 0x12000}, nil), ErrRange)
	require.ErrorIs(t, m.Unmap(m.Limit(), m.Limit()+page), ErrRange)
}

func TestMove(t *testing.T) {
	m := newSpace(t)
	mapAnon(t, m, 0x10000, 2, Read|Write)
	m.Write(0x11000, []byte("second"))
	require.NoError(t, m.Move(0x10000, 0x12000, 0x10000, 4*page), "grows in place")
	require.NoError(t, m.Move(0x10000, 0x14000, 0x40000, 4*page), "moves")
	require.True(t, m.Free(0x10000, 0x14000))
	got := make([]byte, 6)
	require.Equal(t, 6, m.Read(0x41000, got))
	require.Equal(t, "second", string(got))
	require.NoError(t, m.Move(0x40000, 0x44000, 0x40000, page), "shrinks")
	require.True(t, m.Free(0x41000, 0x44000))
	mapAnon(t, m, 0x41000, 3, Read)
	require.Equal(t, 6, m.Read(0x41000, got))
	require.Equal(t, make([]byte, 6), got, "fresh pages")
}

// TestExtend lengthens mappings page by page: each stays one, with its pages and, but for what others may write, the
// code that was found there.
func TestExtend(t *testing.T) {
	const pages = 100
	file := filepath.Join(t.TempDir(), "file")
	content := make([]byte, pages*page)
	for i := range content {
		content[i] = byte(i/page + 1)
	}
	require.NoError(t, os.WriteFile(file, content, 0o600))
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	require.NoError(t, err)
	defer f.Close()
	for _, tt := range []struct {
		name string
		v    VMA
		src  *os.File
	}{
		{"anonymous", VMA{Path: "[heap]", Locked: true}, nil},
		{"private", VMA{Path: "file", Ino: 7}, f},
		{"shared", VMA{Path: "file", Ino: 7, Shared: true}, f},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newSpace(t)
			v := tt.v
			v.Lo, v.Hi, v.Prot = 0x10000, 0x10000+page, Read|Write|Exec
			require.NoError(t, m.Map(v, tt.src))
			require.Equal(t, 5, m.Write(v.Lo, []byte("first")))
			require.NoError(t, m.Guard(v.Lo))
			got := make([]byte, 5)
			for end := v.Lo + pages*page; v.Hi < end; v.Hi += page {
				require.NoError(t, m.Extend(v.Lo, v.Hi, v.Hi+page))
				require.Equal(t, 1, m.Read(v.Hi, got[:1]))
				if tt.src != nil {
					require.Equal(t, content[v.Hi-v.Lo], got[0])
				}
			}
			require.Equal(t, !tt.v.Shared, m.Guarded(v.Lo))
			require.Equal(t, 5, m.Read(v.Lo, got))
			require.Equal(t, "first", string(got))
			whole := *m.VMA(v.Lo)
			require.Equal(t, v.Hi, whole.Hi)
			require.Equal(t, v.Locked, whole.Locked)
			require.ErrorIs(t, m.Extend(v.Lo, v.Lo+page, v.Lo+2*page), ErrNotHere, "it ends elsewhere")
		})
	}
}

func TestGuard(t *testing.T) {
	m := newSpace(t)
	var dropped []emu.Addr
	m.OnInvalidate(func(lo, hi emu.Addr) { dropped = append(dropped, lo) })
	mapAnon(t, m, 0x10000, 3, Read|Write|Exec)
	m.Guard(0x10000, 0x11000)
	require.True(t, m.Guarded(0x10000))
	require.False(t, m.Guarded(0x12000))
	m.Write(0x12000, []byte{1})
	require.Empty(t, dropped)
	m.Write(0x10ffe, []byte{1, 2, 3})
	require.Equal(t, []emu.Addr{0x10000, 0x11000}, dropped)
	require.False(t, m.Guarded(0x10000))
	m.Guard(0x11000)
	require.NoError(t, m.Unmap(0x10000, 0x13000))
	require.Equal(t, []emu.Addr{0x10000, 0x11000, 0x11000}, dropped)
}

// TestGuardBeforeMapped guards a page that is not mapped: what is mapped there later can be guarded.
func TestGuardBeforeMapped(t *testing.T) {
	m := newSpace(t)
	m.Guard(0x10000)
	mapAnon(t, m, 0x10000, 1, Read|Write|Exec)
	require.False(t, m.Guarded(0x10000))
	m.Guard(0x10000)
	require.True(t, m.Guarded(0x10000))
}

func TestFind(t *testing.T) {
	m := newSpace(t)
	mapAnon(t, m, 0x10000, 1, Read)
	mapAnon(t, m, 0x14000, 1, Read)
	for _, tt := range []struct {
		length    uint64
		low, want emu.Addr
	}{
		{1, 0x10000, 0x11000}, {3 * page, 0x10000, 0x11000}, {3*page + 1, 0x10000, 0x15000},
		{page, 0x12345, 0x13000}, {page, 0x100000, 0x100000},
	} {
		got, ok := m.Find(tt.length, tt.low)
		require.True(t, ok)
		require.Equal(t, tt.want, got)
	}
	_, ok := m.Find(uint64(m.Limit()), 0x10000)
	require.False(t, ok)
	_, ok = m.Find(0, 0)
	require.False(t, ok)
}

// TestAgainstPages compares random operations with a model that knows nothing but pages.
func TestAgainstPages(t *testing.T) {
	const pages = 24
	const base emu.Addr = 0x100000
	rng := rand.New(rand.NewPCG(3, 4))
	m := newSpace(t)
	type state struct {
		mapped bool
		prot   Prot
		value  byte
	}
	var model [pages]state
	prots := []Prot{0, Read, Read | Write, Read | Exec}
	for step := range 4000 {
		lo := rng.IntN(pages)
		hi := lo + 1 + rng.IntN(pages-lo)
		from, to := base+emu.Addr(lo*page), base+emu.Addr(hi*page)
		prot := prots[rng.IntN(len(prots))]
		switch rng.IntN(4) {
		case 0:
			require.NoError(t, m.Map(VMA{Lo: from, Hi: to, Prot: prot}, nil))
			for i := lo; i < hi; i++ {
				model[i] = state{mapped: true, prot: prot}
			}
		case 1:
			require.NoError(t, m.Unmap(from, to))
			clear(model[lo:hi])
		case 2:
			err := m.Protect(from, to, prot)
			i := lo
			for ; i < hi && model[i].mapped; i++ {
				model[i].prot = prot
			}
			require.Equal(t, i < hi, err != nil, "step %d", step)
		case 3:
			v := byte(1 + rng.IntN(255))
			n := m.Write(from, []byte{v})
			require.Equal(t, model[lo].prot&Write != 0, n == 1, "step %d", step)
			if n == 1 {
				model[lo].value = v
			}
		}
		for i, s := range model {
			a := base + emu.Addr(i*page)
			v := m.VMA(a)
			require.Equal(t, s.mapped, v != nil, "step %d page %d", step, i)
			var b [1]byte
			require.Equal(t, s.prot&Read != 0, m.Read(a, b[:]) == 1, "step %d page %d", step, i)
			if s.prot&Read != 0 {
				require.Equal(t, s.value, b[0], "step %d page %d", step, i)
			}
		}
		for i, v := range m.VMAs() {
			require.Less(t, v.Lo, v.Hi)
			if i > 0 {
				prev := m.VMAs()[i-1]
				require.LessOrEqual(t, prev.Hi, v.Lo)
				require.False(t, prev.joins(&v), "neighbours that could be one: %+v %+v", prev, v)
			}
		}
	}
}

// TestReachableEnd has stores that run behind the end of a file be known before any of them is made, in a space that
// is not checked, too; loads find out.
func TestReachableEnd(t *testing.T) {
	f := tempFile(t, []byte("short"))
	m := newSpace(t)
	require.NoError(t, m.Map(VMA{Lo: 0x11000, Hi: 0x13000, Prot: Read | Write, Shared: true}, f))
	require.NoError(t, m.Map(VMA{Lo: 0x13000, Hi: 0x14000, Prot: Read | Write}, nil))
	require.EqualValues(t, 8, m.Reachable(0x11ff8, 64, Write))
	require.EqualValues(t, 8, m.Reachable(0x11000, 8, Write))
	require.Zero(t, m.Reachable(0x12ff8, 64, Write))
	require.EqualValues(t, 64, m.Reachable(0x13000, 64, Write))
	require.NoError(t, f.Truncate(0x1001))
	require.EqualValues(t, 64, m.Reachable(0x11ff8, 64, Write))
}

// TestRemovals takes pages away in each way.
func TestRemovals(t *testing.T) {
	m := newSpace(t)
	const lo, hi, to = 0x100000, 0x104000, 0x200000
	anon := VMA{Lo: lo, Hi: hi, Prot: Read | Write}
	require.NoError(t, m.Map(anon, nil))
	before := m.Removals()
	require.NoError(t, m.Protect(lo, hi, Read))
	require.NoError(t, m.Protect(lo, hi, Read|Write))
	require.Equal(t, before, m.Removals(), "what there is stays")
	for name, remove := range map[string]func() error{
		"mapped":    func() error { return m.Map(anon, nil) },
		"discarded": func() error { return m.Discard(lo, hi) },
		"moved":     func() error { return errors.Join(m.Move(lo, hi, to, hi-lo), m.Move(to, to+hi-lo, lo, hi-lo)) },
		"unmapped":  func() error { return errors.Join(m.Unmap(lo+emu.PageSize, hi), m.Map(anon, nil)) },
	} {
		before := m.Removals()
		require.NoError(t, remove())
		require.Greater(t, m.Removals(), before, name)
	}
}
