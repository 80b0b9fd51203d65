//go:build linux && !portable

package mem

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
)

const lentPages = lendMin/emu.PageSize + 64

// newLender makes a space whose forks lend, with memory from 1 MiB on whose pages begin with 1, 2, 3, ...
func newLender(t *testing.T) *Space {
	t.Helper()
	m, err := (&Group{CopyOnWrite: true}).New()
	require.NoError(t, err)
	if !m.host.canLend() {
		t.Skip("this host does not lend")
	}
	t.Cleanup(func() { m.Close() })
	require.NoError(t, m.Map(VMA{Lo: 0x100000, Hi: 0x100000 + lentPages*emu.PageSize, Prot: Read | Write}, nil))
	for i := range emu.Addr(lentPages) {
		poke(t, m, lentPage(i), byte(i+1))
	}
	return m
}

// lentPage is the address of the page with number i of a lender.
func lentPage(i emu.Addr) emu.Addr { return 0x100000 + i*emu.PageSize }

// load and store access memory as guest code does: by the host's permissions, and with a fault that the engine asks
// about.
func load(t *testing.T, m *Space, a emu.Addr) byte {
	t.Helper()
	var b [1]byte
	guestAccess(t, m, a, false, func() bool { _, ok := tryCopy(b[:], m.host.view(a, 1)); return ok })
	return b[0]
}

func store(t *testing.T, m *Space, a emu.Addr, x byte) {
	t.Helper()
	guestAccess(t, m, a, true, func() bool { _, ok := tryCopy(m.host.view(a, 1), []byte{x}); return ok })
}

func guestAccess(t *testing.T, m *Space, a emu.Addr, write bool, access func() bool) {
	t.Helper()
	if access() {
		return
	}
	done, err := m.CopyOnWrite(a, write)
	require.NoError(t, err)
	require.True(t, done, "no fork is why %v cannot be accessed", a)
	require.True(t, access(), "%v", a)
}

// present returns how many pages of [lo, hi) the host has for m.
func present(t *testing.T, m *Space, lo, hi emu.Addr) (n emu.Addr) {
	t.Helper()
	require.NoError(t, changedPages(m.host.base, VMA{Lo: lo, Hi: hi}, func(lo, hi emu.Addr) { n += (hi - lo) / emu.PageSize }))
	return n
}

// TestForkLends checks what is copied, and when.
func TestForkLends(t *testing.T) {
	m := newLender(t)
	n := fork(t, m)
	end := lentPage(lentPages)
	require.Zero(t, present(t, n, lentPage(0), end))
	require.EqualValues(t, 9, load(t, n, lentPage(8)))
	require.EqualValues(t, chunkMin/emu.PageSize, present(t, n, lentPage(0), end))
	require.EqualValues(t, 9, load(t, m, lentPage(8)), "can be read all the time")

	store(t, m, lentPage(40), 0)
	require.EqualValues(t, 41, load(t, n, lentPage(40)), "is what it was at the fork")
	store(t, n, lentPage(80), 0)
	require.EqualValues(t, 81, load(t, m, lentPage(80)))
	require.EqualValues(t, 3*chunkMin/emu.PageSize, present(t, n, lentPage(0), end))

	o := fork(t, n)
	require.EqualValues(t, 101, load(t, o, lentPage(100)))
	require.Equal(t, m, o.borrowed[0].from, "no chain of forks")
	require.NoError(t, n.Close())
	require.EqualValues(t, 0, load(t, o, lentPage(80)))
	require.EqualValues(t, 121, load(t, o, lentPage(120)))
	require.NoError(t, o.Close())
	require.Empty(t, m.borrowers)

	done, err := m.CopyOnWrite(lentPage(0), false)
	require.NoError(t, err)
	require.False(t, done)
	for i := range emu.Addr(lentPages) {
		store(t, m, lentPage(i), 7)
	}
	require.Empty(t, m.lent)
	require.Zero(t, m.group.parts)
}

// TestForkOfLittle copies at once.
func TestForkOfLittle(t *testing.T) {
	m := newLender(t)
	require.NoError(t, m.Unmap(lentPage(8), lentPage(lentPages)))
	n := fork(t, m)
	require.EqualValues(t, 8, present(t, n, lentPage(0), lentPage(8)))
	require.Zero(t, m.group.parts)
}

// TestForkOfBorrower copies what a space has beside a page that it has borrowed and that the host has given it all the
// same, as Linux does where it gives several pages at a time.
func TestForkOfBorrower(t *testing.T) {
	n := fork(t, newLender(t))
	require.EqualValues(t, 17, load(t, n, lentPage(16)))
	beside := lentPage(15)
	require.True(t, lies(beside, n.borrowed))
	require.NoError(t, n.host.protectPages(beside, beside+emu.PageSize, Read|Write))
	n.host.view(beside, 1)[0] = 0
	require.NoError(t, n.host.protectPages(beside, beside+emu.PageSize, 0))
	o := fork(t, n)
	if present(t, o, lentPage(13), beside) == 0 { // single pages are given
		require.Zero(t, present(t, o, beside, beside+emu.PageSize))
	}
	for i := emu.Addr(14); i < 32; i++ {
		require.EqualValues(t, i+1, load(t, o, lentPage(i)), "page %d", i)
	}
}

// TestCopyPages copies what lies around pages that cannot be read.
func TestCopyPages(t *testing.T) {
	m, n := newLender(t), newLender(t)
	for _, p := range []emu.Addr{10, 14, 15} {
		require.NoError(t, m.host.protectPages(lentPage(p), lentPage(p+1), 0))
	}
	for i := range emu.Addr(lentPages) {
		poke(t, n, lentPage(i), 0)
	}
	copyPages(n, m, lentPage(10), lentPage(18)-100)
	for i, want := range []byte{0, 0, 12, 13, 14, 0, 0, 17, 18, 0} {
		require.Equal(t, want, load(t, n, lentPage(9+emu.Addr(i))), "page %d", 9+i)
	}
}

// TestLenderGone has a parent end, or its memory go, while its children have not copied it: the last one gets the pages
// themselves.
func TestLenderGone(t *testing.T) {
	for name, gone := range map[string]func(m *Space) error{
		"closed":    func(m *Space) error { return m.Close() },
		"unmapped":  func(m *Space) error { return m.Unmap(lentPage(0), lentPage(lentPages)) },
		"discarded": func(m *Space) error { return m.Discard(lentPage(0), lentPage(lentPages)) },
		"mapped":    func(m *Space) error { return m.Map(VMA{Lo: lentPage(0), Hi: lentPage(lentPages), Prot: Read}, nil) },
		"moved":     func(m *Space) error { return m.Move(lentPage(0), lentPage(lentPages), 0x40000000, lendMin*2) },
		"protected": func(m *Space) error { return m.Protect(lentPage(0), lentPage(lentPages), 0) },
		"grown":     func(m *Space) error { return m.Grow(2 * FirstLimit) },
	} {
		t.Run(name, func(t *testing.T) {
			m := newLender(t)
			children := []*Space{fork(t, m), fork(t, m), fork(t, m)}
			store(t, m, lentPage(50), 0)
			store(t, children[1], lentPage(150), 99)
			require.NoError(t, gone(m))
			for i, n := range children {
				for p := range emu.Addr(lentPages) {
					want := byte(p + 1)
					if i == 1 && p == 150 {
						want = 99
					}
					require.Equal(t, want, load(t, n, lentPage(p)), "child %d, page %d", i, p)
					store(t, n, lentPage(p), 1)
				}
			}
			if name == "discarded" {
				require.Zero(t, load(t, m, lentPage(3)))
				store(t, m, lentPage(3), 1)
			}
		})
	}
}

// TestBorrowerChanges changes a child's mappings of memory that it has not copied.
func TestBorrowerChanges(t *testing.T) {
	m := newLender(t)
	n := fork(t, m)
	require.NoError(t, n.Discard(lentPage(0), lentPage(1)))
	require.Zero(t, load(t, n, lentPage(0)))
	require.NoError(t, n.Protect(lentPage(32), lentPage(33), Read))
	require.EqualValues(t, 33, load(t, n, lentPage(32)))
	require.NoError(t, n.Unmap(lentPage(100), lentPage(101)))
	require.Zero(t, n.Read(lentPage(100), make([]byte, 1)))
	require.NoError(t, n.Move(lentPage(200), lentPage(lentPages), 0x40000000, lendMin*2))
	require.EqualValues(t, 201, load(t, n, 0x40000000))
	require.NoError(t, n.Grow(2*FirstLimit))
	require.EqualValues(t, 121, load(t, n, lentPage(120)))
	for i := range emu.Addr(lentPages) {
		require.Equal(t, byte(i+1), load(t, m, lentPage(i)))
	}
}

// TestFewParts checks that loans are not parted when there are many.
func TestFewParts(t *testing.T) {
	was := maxParts
	maxParts = func() int { return 4 }
	defer func() { maxParts = was }()
	m := newLender(t)
	n := fork(t, m)
	for i := emu.Addr(0); i < lentPages; i += 40 {
		require.Equal(t, byte(i+1), load(t, n, lentPage(i)))
		require.LessOrEqual(t, m.group.parts, 5)
	}
}

// A kin is a space with what its pages should hold; -1 if a page is not mapped.
type kin struct {
	m    *Space
	want [lentPages]int
}

// TestForksAtRandom lets a family of spaces fork, end, access their memory and change their mappings, and compares them
// with copies.
func TestForksAtRandom(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			if seed%4 == 3 { // as on an older host
				was := noScan.Swap(true)
				defer noScan.Store(was)
			}
			forksAtRandom(t, rand.New(rand.NewPCG(seed, 1)))
		})
	}
}

// TestForkOfManyMappings has a parent with more mappings than loans are to be parted.
func TestForkOfManyMappings(t *testing.T) {
	m := newLender(t)
	const n = 3000
	at := func(i emu.Addr) emu.Addr { return 0x40000000 + 2*i*emu.PageSize }
	for i := range emu.Addr(n) {
		mapAnon(t, m, at(i), 1, Read|Write)
		poke(t, m, at(i), byte(i))
	}
	a := fork(t, m)
	b := fork(t, a)
	require.Greater(t, m.group.parts, n)
	for i := range emu.Addr(n) {
		switch i % 4 {
		case 0:
			store(t, m, at(i), 255)
		case 1:
			store(t, a, at(i), 255)
		}
		require.EqualValues(t, byte(i), load(t, b, at(i)))
	}
	require.NoError(t, m.Close())
	for i := range emu.Addr(n) {
		if i%4 != 1 {
			require.EqualValues(t, byte(i), load(t, a, at(i)))
		}
	}
}

func forksAtRandom(t *testing.T, rng *rand.Rand) {
	first := &kin{m: newLender(t)}
	for i := range first.want {
		first.want[i] = int(byte(i + 1))
	}
	family := []*kin{first}
	group := first.m.group
	for range 400 {
		at := rng.IntN(len(family))
		k := family[at]
		lo := emu.Addr(rng.IntN(lentPages))
		hi := min(lo+1+emu.Addr(rng.IntN(64)), lentPages)
		switch what := rng.IntN(100); {
		case what < 10 && len(family) < 8:
			child := &kin{m: fork(t, k.m), want: k.want}
			family = append(family, child)
		case what < 13 && len(family) > 1:
			require.NoError(t, k.m.Close())
			family = append(family[:at], family[at+1:]...)
		case what < 20:
			k.change(t, rng, lo, hi)
		default:
			k.access(t, rng, lo)
		}
	}
	for _, k := range family {
		for i, want := range k.want {
			if want >= 0 {
				require.EqualValues(t, want, peek(t, k.m, lentPage(emu.Addr(i))), "page %d", i)
			}
		}
		require.NoError(t, k.m.Close())
	}
	require.Zero(t, group.parts)
}

// access reads or writes page i, as guest code or as the kernel.
func (k *kin) access(t *testing.T, rng *rand.Rand, i emu.Addr) {
	t.Helper()
	a, x := lentPage(i), byte(rng.Uint32())
	switch way := rng.IntN(4); {
	case k.want[i] < 0:
		require.Zero(t, k.m.Read(a, make([]byte, 1)))
	case way == 0:
		require.EqualValues(t, k.want[i], load(t, k.m, a), "page %d", i)
	case way == 1:
		require.EqualValues(t, k.want[i], peek(t, k.m, a), "page %d", i)
	case way == 2:
		store(t, k.m, a, x)
		k.want[i] = int(x)
	default:
		poke(t, k.m, a, x)
		k.want[i] = int(x)
	}
}

// change changes the mappings of pages lo to hi.
func (k *kin) change(t *testing.T, rng *rand.Rand, lo, hi emu.Addr) {
	t.Helper()
	set := func(x int) {
		for i := lo; i < hi; i++ {
			k.want[i] = x
		}
	}
	switch rng.IntN(5) {
	case 0:
		require.NoError(t, k.m.Unmap(lentPage(lo), lentPage(hi)))
		set(-1)
	case 1:
		require.NoError(t, k.m.Map(VMA{Lo: lentPage(lo), Hi: lentPage(hi), Prot: Read | Write}, nil))
		set(0)
	case 2:
		if k.m.Protect(lentPage(lo), lentPage(hi), Read) == nil {
			require.NoError(t, k.m.Protect(lentPage(lo), lentPage(hi), Read|Write))
		}
		for i := range k.want { // what lies in front of a hole is still protected
			if k.want[i] >= 0 {
				require.NoError(t, k.m.Protect(lentPage(emu.Addr(i)), lentPage(emu.Addr(i+1)), Read|Write))
			}
		}
	case 3:
		require.NoError(t, k.m.Grow(2*FirstLimit))
	default:
		if k.m.Accessible(lentPage(lo), uint64(lentPage(hi)-lentPage(lo)), Read) == uint64(lentPage(hi)-lentPage(lo)) {
			require.NoError(t, k.m.Discard(lentPage(lo), lentPage(hi)))
			set(0)
		}
	}
}

// TestHostFillsCopy has the host's kernel read a file into memory that was not copied.
func TestHostFillsCopy(t *testing.T) {
	m := newLender(t)
	n := fork(t, m)
	f := forkFile(t)
	for _, s := range []*Space{m, n} {
		_, err := f.Seek(0, 0)
		require.NoError(t, err)
		got, err := f.Read(s.View(lentPage(60), 3*emu.PageSize, Write).ForHost())
		require.NoError(t, err)
		require.EqualValues(t, 3*emu.PageSize, got)
		require.EqualValues(t, 2, load(t, s, lentPage(61)))
	}
	w, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	defer w.Close()
	_, err = w.Write(n.View(lentPage(200), 2*emu.PageSize, Read).ForHost())
	require.NoError(t, err)
}
