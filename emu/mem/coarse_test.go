//go:build linux

package mem

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/cgemu/cgemu/emu"
)

// onLargePages runs f as on hosts with larger pages.
func onLargePages(t *testing.T, f func(t *testing.T)) {
	for _, n := range []emu.Addr{16 << 10, 64 << 10} {
		withHostPage(n, func() { t.Run(n.String(), f) })
	}
}

// TestLargePagesNeedChecks refuses spaces for engines that leave permissions to a host that has no pages of 4 KiB.
func TestLargePagesNeedChecks(t *testing.T) {
	defer func(was emu.Addr) { HostPage = was }(HostPage)
	HostPage = 16 << 10
	_, err := New()
	require.EqualError(t, err, "mem: the host's pages have 16 KiB, and this engine needs pages of 4 KiB: --engine=interp does not")
}

// TestFirstPage writes to a file's page that is mapped at address 0.
func TestFirstPage(t *testing.T) {
	onLargePages(t, func(t *testing.T) {
		f := forkFile(t)
		m := newSpace(t)
		require.NoError(t, m.Map(VMA{Lo: 0, Hi: 2 * page, Prot: Read | Write, Shared: true, Ino: 7}, f))
		require.Equal(t, 3, m.Write(page-1, []byte("abc")))
		m.group.Sync()
		b := make([]byte, 3)
		_, err := f.ReadAt(b, page-1)
		require.NoError(t, err)
		require.Equal(t, "abc", string(b))
	})
}

// TestSharedCopies has two spaces, one of which has the file twice, store to a file's pages in turns, as engines do: by
// what Direct returns.
func TestSharedCopies(t *testing.T) {
	onLargePages(t, func(t *testing.T) {
		f := forkFile(t)
		a := newSpace(t)
		const at, again, private = 0x11000, 0x25000, 0x33000
		for _, lo := range []emu.Addr{at, again} {
			require.NoError(t, a.Map(VMA{Lo: lo, Hi: lo + 3*page, Prot: Read | Write, Shared: true, Ino: 7}, f))
		}
		b := fork(t, a)
		for _, m := range []*Space{a, b} {
			_, err := m.Perms()
			require.NoError(t, err)
		}
		r := rand.New(rand.NewPCG(1, 2))
		want := map[emu.Addr]byte{0: 1, page: 2, 2 * page: 3}
		for i := range 3000 {
			m, off := a, emu.Addr(r.IntN(3))*page
			if r.IntN(2) == 0 {
				m = b
			}
			lo := emu.Addr(at)
			if r.IntN(2) == 0 {
				lo = again
			}
			switch r.IntN(8) {
			case 0:
				m.group.Sync()
				got := make([]byte, 1)
				_, err := f.ReadAt(got, int64(off))
				require.NoError(t, err)
				require.Equal(t, want[off], got[0], i)
			case 1:
				m.group.Sync()
				_, err := f.WriteAt([]byte{byte(i)}, int64(off))
				require.NoError(t, err)
				want[off] = byte(i)
			case 2, 3, 4:
				if d := m.Direct(lo+off, 1, Write); d != nil {
					d[0] = byte(i)
				} else {
					poke(t, m, lo+off, byte(i)) // which lets the next one be direct
				}
				want[off] = byte(i)
			default:
				d := m.Direct(lo+off, 1, Read)
				require.NotNil(t, d)
				require.Equal(t, want[off], d[0], i)
			}
		}
		require.NoError(t, a.Map(VMA{Lo: private, Hi: private + 3*page, Prot: Read | Write}, f), "has what was stored")
		for off, x := range want {
			require.Equal(t, x, peek(t, a, private+off))
		}
		poke(t, a, at, 99)
		require.NoError(t, a.Unmap(at, at+3*page))
		got := make([]byte, 1)
		_, err := f.ReadAt(got, 0)
		require.NoError(t, err)
		require.Equal(t, byte(99), got[0], "unmapping writes back")
		require.EqualValues(t, 99, peek(t, a, private), "nobody wrote to it")
		poke(t, a, private, 98)
		poke(t, a, again, 97)
		require.EqualValues(t, 98, peek(t, a, private), "a copy of its own")
		require.EqualValues(t, 97, peek(t, b, at))
	})
}

// TestSharedEnd stores behind the end of a file in its last page: the file does not get longer, and what was stored is
// gone.
func TestSharedEnd(t *testing.T) {
	onLargePages(t, func(t *testing.T) {
		f := tempFile(t, []byte("short"))
		m := newSpace(t)
		require.NoError(t, m.Map(VMA{Lo: 0x11000, Hi: 0x13000, Prot: Read | Write, Shared: true}, f))
		require.Equal(t, 3, m.Write(0x11004, []byte("TED")))
		require.Zero(t, m.Write(0x12000, []byte{1}), "beyond the last page")
		m.group.Sync()
		text, err := os.ReadFile(f.Name())
		require.NoError(t, err)
		require.Equal(t, "shorT", string(text))
		require.Zero(t, peek(t, m, 0x11005))
		require.NoError(t, f.Truncate(0))
		require.Zero(t, m.Read(0x11000, make([]byte, 1)))
	})
}

// TestMayMap has files refused as mmap(2) and mprotect(2) refuse them.
func TestMayMap(t *testing.T) {
	needsHostMappings(t)
	onLargePages(t, func(t *testing.T) {
		m := newSpace(t)
		path := tempFile(t, make([]byte, page)).Name()
		v := VMA{Lo: 0x11000, Hi: 0x12000, Prot: Read}
		for _, mode := range []int{os.O_RDONLY, os.O_WRONLY, os.O_RDWR} {
			f, err := os.OpenFile(path, mode, 0)
			require.NoError(t, err)
			defer f.Close()
			for _, shared := range []bool{false, true} {
				v.Shared = shared
				err := m.Map(v, f)
				if mode == os.O_WRONLY {
					require.Error(t, err)
					continue
				}
				require.NoError(t, err)
				err = m.Protect(v.Lo, v.Hi, Read|Write)
				if shared && mode == os.O_RDONLY {
					require.ErrorIs(t, err, ErrAccess)
					require.ErrorIs(t, m.Remove(v.Lo, v.Hi), unix.EACCES)
				} else {
					require.NoError(t, err)
				}
			}
		}
		dir, err := os.Open(filepath.Dir(path))
		require.NoError(t, err)
		defer dir.Close()
		require.Error(t, m.Map(v, dir))
	})
}

// TestNeighbours changes mappings in host pages that others are in, of all kinds: those keep what they have.
func TestNeighbours(t *testing.T) {
	onLargePages(t, func(t *testing.T) {
		m := newSpace(t)
		f := forkFile(t)
		const lo, pages = 0x40000, 48
		content := map[emu.Addr]byte{} // of pages that are mapped
		r := rand.New(rand.NewPCG(3, 4))
		for i := range 2000 {
			a := emu.Addr(lo) + emu.Addr(r.IntN(pages-4))*page
			n := emu.Addr(1+r.IntN(4)) * page
			each := func(f func(p emu.Addr)) {
				for p := a; p < a+n; p += page {
					f(p)
				}
			}
			switch r.IntN(6) {
			case 0:
				require.NoError(t, m.Map(VMA{Lo: a, Hi: a + n, Prot: Prot(r.IntN(2)) * Read}, nil))
				each(func(p emu.Addr) { content[p] = 0 })
			case 1:
				n = min(n, 3*page)
				require.NoError(t, m.Map(VMA{Lo: a, Hi: a + n, Prot: Read | Write}, f))
				each(func(p emu.Addr) { content[p] = byte(1 + (p-a)/page) })
			case 2:
				require.NoError(t, m.Unmap(a, a+n))
				each(func(p emu.Addr) { delete(content, p) })
			case 3:
				if v := m.VMA(a); v != nil && a+n <= v.Hi {
					to := emu.Addr(0x200000) + a%0x10000 + page
					require.NoError(t, m.Move(a, a+n, to, uint64(n)))
					back := emu.Addr(lo) + emu.Addr(r.IntN(pages-4))*page
					moved := map[emu.Addr]byte{}
					each(func(p emu.Addr) { moved[back+p-a] = content[p]; delete(content, p) })
					require.NoError(t, m.Move(to, to+n, back, uint64(n)))
					for p, x := range moved {
						content[p] = x
					}
				}
			case 4:
				each(func(p emu.Addr) {
					if m.Poke(p, []byte{byte(i)}) == 1 {
						content[p] = byte(i)
					}
				})
			case 5:
				_ = m.Protect(a, a+n, Prot(r.IntN(4)))
			}
			if i%20 == 0 {
				c := fork(t, m)
				for _, s := range []*Space{m, c} {
					for p := emu.Addr(lo); p < lo+pages*page; p += page {
						x, mapped := content[p]
						require.Equal(t, mapped, s.VMA(p) != nil)
						if mapped && s.VMA(p).Prot&Read != 0 {
							require.Equal(t, x, peek(t, s, p), "%v after %d", p, i)
						}
					}
				}
			}
		}
	})
}
