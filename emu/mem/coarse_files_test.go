//go:build linux

package mem

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/cgemu/cgemu/emu"
)

// mapped is two spaces, the second a copy of the first, and files that they map: one that may be written to, twice, and
// one opened for reading.
type mapped struct {
	spaces   [2]*Space
	file     *os.File
	readOnly *os.File
}

const (
	mappedLo, mappedPages = emu.Addr(0x41000), 40
	mappedIno             = 7
)

func newMapped(t *testing.T) *mapped {
	w := &mapped{file: tempFile(t, make([]byte, 12*page))}
	readOnly, err := os.Open(w.file.Name())
	require.NoError(t, err)
	t.Cleanup(func() { readOnly.Close() })
	w.readOnly = readOnly
	w.spaces[0] = newSpace(t)
	w.mapAgain(0, 0, 2, false, Read|Write, 0)
	w.mapAgain(0, 5, 4, true, Read|Write, 0)
	w.store(0, 0, 0)
	w.spaces[1] = fork(t, w.spaces[0])
	for _, m := range w.spaces {
		_, err := m.Perms()
		require.NoError(t, err)
	}
	return w
}

func (w *mapped) mapAgain(who, at, n int, shared bool, prot Prot, off int) error {
	lo := mappedLo + emu.Addr(at)*page
	v := VMA{Lo: lo, Hi: lo + emu.Addr(n)*page, Prot: prot, Shared: shared, Off: uint64(off) * page, Ino: mappedIno}
	if shared && off%2 == 1 {
		return w.spaces[who].Map(v, w.readOnly)
	}
	return w.spaces[who].Map(v, w.file)
}

// store stores in page at, across its end if the next one can be written to, as an engine does: directly where it may.
func (w *mapped) store(who, at int, x byte) int {
	m, a := w.spaces[who], mappedLo+emu.Addr(at)*page
	if d := m.Direct(a, 8, Write); d != nil {
		d[3] = x
	} else {
		m.Write(a+3, []byte{x})
	}
	return m.Write(a+page-2, []byte{x, x, x})
}

// someProt is Read|Write most often.
func someProt(r *rand.Rand) Prot {
	return []Prot{0, Read, Read | Write, Read | Write, Read | Write}[r.IntN(5)]
}

// step does one thing at random and returns what came of it.
func (w *mapped) step(r *rand.Rand) string {
	who, at, n, off, x := r.IntN(2), r.IntN(mappedPages-8), 1+r.IntN(5), r.IntN(12), byte(1+r.IntN(250))
	m, lo := w.spaces[who], mappedLo+emu.Addr(at)*page
	hi, to, size := lo+emu.Addr(n)*page, mappedLo+emu.Addr(r.IntN(mappedPages-8))*page, uint64(1+r.IntN(6))*page
	var got any
	op := r.IntN(15)
	switch op {
	case 0:
		got = m.Map(VMA{Lo: lo, Hi: hi, Prot: Prot(r.IntN(4))}, nil)
	case 1, 2:
		got = w.mapAgain(who, at, n, r.IntN(2) == 0, someProt(r), off)
	case 3:
		got = m.Unmap(lo, hi)
	case 4:
		got = m.Protect(lo, hi, someProt(r))
	case 5:
		hi = lo + min(hi-lo, 2*page) // so that it is in one mapping
		if end := to + emu.Addr(size); to != lo && to < hi && lo < end {
			return "overlap"
		}
		got = m.Move(lo, hi, to, size)
	case 6:
		got = m.Discard(lo, hi)
		if v := m.VMA(lo); v == nil || v.Hi < hi {
			got = "not one mapping" // of which the host says nothing, or an error, as it has joined them
		}
	case 7:
		m.group.Sync()
		b := []byte{x}
		_, err := w.file.WriteAt(b, int64(off)*page+3)
		if err == nil { // the file ends with a page: what is stored behind its end is undefined
			_, err = w.file.WriteAt(b, int64(off)*page+page-1)
		}
		m.group.FileChanged(mappedIno)
		got = err
	case 8:
		if r.IntN(3) > 0 {
			return ""
		}
		m.group.Sync()
		got = w.file.Truncate(int64(off) * page)
		m.group.FileCut(mappedIno, uint64(off)*page)
	case 9:
		m.group.Sync()
		b := make([]byte, page)
		got, _ = w.file.ReadAt(b, int64(off)*page)
		return fmt.Sprintln(op, got, b[3], b[page-2])
	case 10:
		if v := m.VMA(lo); v != nil && v.File && v.Shared && v.Prot != Read {
			got = m.Remove(lo, lo+page) != nil
			m.group.FileChanged(mappedIno)
		}
	default:
		got = w.store(who, at, x)
	}
	return fmt.Sprintln(op, who, at, n, got)
}

// look returns how much of each page can be read, and the bytes of it that matter.
func (w *mapped) look() (pages []string) {
	for who, m := range w.spaces {
		for p := mappedLo; p < mappedLo+mappedPages*page; p += page {
			var b [page]byte
			n := m.Read(p, b[:])
			pages = append(pages, fmt.Sprint(who, p, n, b[0], b[3], b[page-2], b[page-1]))
		}
	}
	return pages
}

// TestFilesAlike changes mappings of a file in two spaces in the same way where the host maps it and where its pages
// are too large: they are alike all the time.
func TestFilesAlike(t *testing.T) {
	if os.Getpagesize() > page {
		t.Skip("there is nothing to compare with")
	}
	onLargePages(t, func(t *testing.T) {
		var small *mapped
		large := newMapped(t)
		withHostPage(page, func() { small = newMapped(t) })
		a, b := rand.New(rand.NewPCG(5, 6)), rand.New(rand.NewPCG(5, 6))
		for i := range 3000 {
			require.Equal(t, small.step(a), large.step(b), i)
			if i%4 == 0 {
				require.Equal(t, small.look(), large.look(), i)
				for _, m := range large.spaces {
					for p := range m.copies {
						require.True(t, m.VMA(p) != nil && m.onDemand(m.VMA(p)), "%d: a copy of nothing at %v", i, p)
					}
				}
			}
		}
	})
}

// TestFetchedAreFew has a guest store by two mappings of a page in turns: what Sync has to look at does not grow.
func TestFetchedAreFew(t *testing.T) {
	onLargePages(t, func(t *testing.T) {
		m, f := newSpace(t), forkFile(t)
		for _, lo := range []emu.Addr{0x11000, 0x23000} {
			require.NoError(t, m.Map(VMA{Lo: lo, Hi: lo + page, Prot: Read | Write, Shared: true}, f))
		}
		for i := range 1000 {
			poke(t, m, 0x11000+emu.Addr(i%2)*0x12000, byte(i))
		}
		require.Len(t, m.group.fetched, 2)
		require.EqualValues(t, 999&255, peek(t, m, 0x11000))
		m.group.Sync()
		require.Empty(t, m.group.fetched)
		require.Empty(t, m.copies)
	})
}

// TestPagesGoBack unmaps the guest's pages of one of the host's one by one: with the last the host has it back.
func TestPagesGoBack(t *testing.T) {
	needsHostMappings(t)
	onLargePages(t, func(t *testing.T) {
		m := newSpace(t)
		const lo = 0x100000
		size := HostPage
		mapAnon(t, m, lo, int(size/page), Read|Write)
		for p := emu.Addr(lo); p < lo+size; p += page {
			host, _ := hostPermissions(t, m, lo, lo+size)
			require.Equal(t, "rw-p", host)
			poke(t, m, p, 1)
			require.NoError(t, m.Unmap(p, p+page))
		}
		host, _ := hostPermissions(t, m, lo, lo+size)
		require.Equal(t, "---p", host)
		mapAnon(t, m, lo+page, 1, Read|Write)
		require.Zero(t, peek(t, m, lo+page))
	})
}

// TestUnreadableFile has a file that cannot be read be as one that ends: its pages cannot be accessed.
func TestUnreadableFile(t *testing.T) {
	onLargePages(t, func(t *testing.T) {
		m := newSpace(t)
		require.NoError(t, m.Map(VMA{Lo: 0x11000, Hi: 0x14000, Prot: Read | Write}, forkFile(t)))
		poke(t, m, 0x11000, 9)
		writing, err := os.OpenFile(t.TempDir()+"/w", os.O_CREATE|os.O_WRONLY, 0o600)
		require.NoError(t, err)
		require.NoError(t, writing.Truncate(3*page))
		back := m.VMA(0x11000).back
		back.file.Close()
		back.file = writing
		require.Equal(t, page, m.Read(0x11000, make([]byte, 2*page)), "the guest's own is there")
		require.Zero(t, m.Permit(0x12000))
		require.Zero(t, m.Write(0x13000, []byte{1}))
	})
}

// TestHold has a file be mapped on the host as long as the guest's mappings are to count.
func TestHold(t *testing.T) {
	needsHostMappings(t)
	onLargePages(t, func(t *testing.T) {
		fd, err := unix.MemfdCreate("sealed", unix.MFD_ALLOW_SEALING|unix.MFD_CLOEXEC)
		require.NoError(t, err)
		f := os.NewFile(uintptr(fd), "sealed")
		defer f.Close()
		require.NoError(t, f.Truncate(page))
		m := newSpace(t)
		seal := func() error {
			_, release := m.group.Hold(mappedIno)
			defer release()
			_, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_WRITE)
			return err
		}
		require.NoError(t, m.Map(VMA{Lo: 0x11000, Hi: 0x12000, Prot: Read, Shared: true, Ino: mappedIno}, f))
		require.ErrorIs(t, seal(), unix.EBUSY)
		require.NoError(t, m.Unmap(0x11000, 0x12000))
		require.NoError(t, seal())
		require.Error(t, m.Map(VMA{Lo: 0x11000, Hi: 0x12000, Prot: Read | Write, Shared: true, Ino: mappedIno}, f))
		require.NoError(t, m.Map(VMA{Lo: 0x11000, Hi: 0x12000, Prot: Read | Write, Ino: mappedIno}, f))
		held, release := m.group.Hold(mappedIno)
		release()
		require.False(t, held, "a private one may be there")
	})
}

// TestMoved has what a private mapping wrote be gone where its file's content moved, and not in front of that.
func TestMoved(t *testing.T) {
	onLargePages(t, func(t *testing.T) {
		m := newSpace(t)
		require.NoError(t, m.Map(VMA{Lo: 0x11000, Hi: 0x14000, Prot: Read | Write, Ino: mappedIno}, forkFile(t)))
		see := func() (got [3]byte) {
			for i := range got {
				got[i] = peek(t, m, 0x11000+emu.Addr(i)*page)
			}
			return got
		}
		for i := range emu.Addr(3) {
			poke(t, m, 0x11000+i*page, 9)
		}
		m.group.FileCut(mappedIno, math.MaxUint64)
		require.Equal(t, [3]byte{9, 9, 9}, see())
		m.group.FileCut(mappedIno, page)
		require.Equal(t, [3]byte{9, 2, 3}, see())
	})
}

// TestRing writes across the seam of two mappings of one page that lie side by side, as a ring buffer does: both parts
// get there.
func TestRing(t *testing.T) {
	onLargePages(t, func(t *testing.T) {
		m, f := newSpace(t), forkFile(t)
		for _, lo := range []emu.Addr{0x11000, 0x12000} {
			require.NoError(t, m.Map(VMA{Lo: lo, Hi: lo + page, Prot: Read | Write, Shared: true}, f))
		}
		require.EqualValues(t, 4, m.Reachable(0x11ffe, 4, Write))
		require.Equal(t, 4, m.Write(0x11ffe, []byte{1, 2, 3, 4}))
		require.EqualValues(t, 2, m.View(0x11ffe, 4, Write).Len(), "the host would fill two copies of one page")
		m.group.Sync()
		got := make([]byte, page)
		_, err := f.ReadAt(got, 0)
		require.NoError(t, err)
		require.Equal(t, []byte{3, 4, 1, 2}, append(got[:2:2], got[page-2:]...))
		require.EqualValues(t, 3, peek(t, m, 0x12000))
	})
}
