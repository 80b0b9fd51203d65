//go:build !portable

package mem

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/cgemu/cgemu/emu"
)

func init() { alike["ForkWithoutPagemap"] = TestForkWithoutPagemap }

// TestForkWithoutPagemap copies all where the host does not tell which pages are in use.
func TestForkWithoutPagemap(t *testing.T) {
	was := pagemap
	pagemap = func() int { return -1 }
	defer func() { pagemap = was }()
	m := newSpace(t)
	f := forkFile(t)
	require.NoError(t, m.Map(VMA{Lo: 0x100000, Hi: 0x105000, Prot: Read, Path: "/f"}, f)) // two pages behind its end
	require.NoError(t, m.Map(VMA{Lo: 0x200000, Hi: 0x210000, Prot: Read | Write}, nil))
	poke(t, m, 0x20f000, 5)
	n := fork(t, m)
	assert.EqualValues(t, 3, peek(t, n, 0x102000))
	assert.EqualValues(t, 5, peek(t, n, 0x20f000))
}

// TestForkWithoutScan copies the same where the host has to be asked page by page.
func TestForkWithoutScan(t *testing.T) {
	was := noScan.Swap(true)
	defer noScan.Store(was)
	for name, test := range alike {
		if strings.HasPrefix(name, "Fork") && name != "ForkWithoutPagemap" {
			t.Run(name, test)
		}
	}
}

// TestChangedPages has both ways find the pages that were written to.
func TestChangedPages(t *testing.T) {
	const end = 0x3fd000
	m := newSpace(t)
	f := forkFile(t)
	require.NoError(t, m.Map(VMA{Lo: 0x100000, Hi: 0x103000, Prot: Read | Write, Path: "/f"}, f))
	require.NoError(t, m.Map(VMA{Lo: 0x200000, Hi: end, Prot: Read | Write}, nil))
	for _, v := range m.VMAs() {
		require.NoError(t, unix.Madvise(m.host.view(v.Lo, v.Len()), unix.MADV_NOHUGEPAGE))
	}
	poke(t, m, 0x300000, 1)
	if present(t, m, 0x200000, end) > 1 {
		t.Skip("the host gives several pages at a time all the same, as below qemu, which ignores advice")
	}
	require.NoError(t, m.Discard(0x300000, 0x301000))
	poke(t, m, 0x101008, 1)
	peek(t, m, 0x102000)
	want := []emu.Addr{0x101000, 0x102000}
	for a := emu.Addr(0x200000); a < end; a += 3 * emu.PageSize { // more runs than one scan returns
		poke(t, m, a, 1)
		want = append(want, a, a+emu.PageSize)
	}
	for way, changed := range map[string]func(uintptr, VMA, func(lo, hi emu.Addr)) error{"scanned": scanPages, "read": readPages} {
		if way == "scanned" && noScan.Load() {
			continue // an older host
		}
		var got []emu.Addr
		for _, v := range m.VMAs() {
			require.NoError(t, changed(m.host.base, v, func(lo, hi emu.Addr) {
				for ; lo < hi; lo += emu.PageSize {
					got = append(got, lo, lo+emu.PageSize)
				}
			}))
		}
		require.Equal(t, want, got, way)
	}
}

// TestPopulate counts the pages that there are of mappings of which nothing was touched.
func TestPopulate(t *testing.T) {
	if pagemap() < 0 {
		t.Skip("the host does not tell which pages are in use")
	}
	probe, err := unix.Mmap(-1, 0, emu.PageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	require.NoError(t, err)
	defer unix.Munmap(probe)
	made := false
	if unix.Madvise(probe, unix.MADV_POPULATE_WRITE) == nil { // qemu has done nothing then
		v := VMA{Hi: emu.PageSize, Prot: Read | Write}
		require.NoError(t, changedPages(hostAddr(probe), v, func(lo, hi emu.Addr) { made = true }))
	}
	if !made {
		t.Skip("the host makes no pages when asked: Linux before 5.14, qemu")
	}
	m := newSpace(t)
	at := emu.Addr(0x1000000)
	pages := func(v VMA, size uint64) (n emu.Addr) {
		v.Lo, v.Hi = at, at+emu.Addr(size)
		at = v.Hi + emu.PageSize
		require.NoError(t, m.Map(v, nil))
		require.NoError(t, changedPages(m.host.base, v, func(lo, hi emu.Addr) { n += (hi - lo) / emu.PageSize }))
		return n
	}
	memory := VMA{Prot: Read | Write}
	require.Zero(t, pages(memory, populateFrom), "a program that needs little")
	for range (populateTo - populateFrom) / smallMapping {
		require.EqualValues(t, smallMapping/emu.PageSize, pages(memory, smallMapping))
		require.Zero(t, pages(memory, smallMapping+emu.PageSize), "large")
		require.Zero(t, pages(VMA{Prot: Read}, smallMapping), "read-only")
		require.Zero(t, pages(VMA{Prot: Read | Write, Shared: true}, smallMapping), "shared")
	}
	require.Zero(t, pages(memory, smallMapping), "there are enough")
	require.NoError(t, m.Unmap(0, m.Limit()))
	require.Zero(t, pages(memory, smallMapping), "another program, that needs little")
	require.EqualValues(t, smallMapping/emu.PageSize, pages(memory, smallMapping))
}
