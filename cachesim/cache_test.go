package cachesim

import (
	"container/list"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// A textbook is a cache with least-recently-used replacement as textbooks draw it: each set is a
// list of the lines it holds, the least recently used one in front. It shares no code with Cache.
type textbook struct {
	size, assoc, line uint64
	sets              map[uint64]*list.List
}

func newTextbook(g Geometry) *textbook {
	return &textbook{uint64(g.Size), uint64(g.Assoc), uint64(g.Line), map[uint64]*list.List{}}
}

// holds makes the line at addr the most recently used one and says whether it was there.
func (c *textbook) holds(addr uint64) bool {
	number := addr / c.line
	index := number % (c.size / (c.line * c.assoc))
	set := c.sets[index]
	if set == nil {
		set = list.New()
		for range c.assoc {
			set.PushBack(uint64(0)) // Cachegrind's caches begin so
		}
		c.sets[index] = set
	}
	for e := set.Back(); e != nil; e = e.Prev() {
		if e.Value == number {
			set.MoveToBack(e)
			return true
		}
	}
	set.Remove(set.Front())
	set.PushBack(number)
	return false
}

// misses says whether a reference misses: it touches each byte.
func (c *textbook) misses(addr uint64, size int) bool {
	miss := false
	for i := range uint64(size) {
		if !c.holds(addr + i) {
			miss = true
		}
	}
	return miss
}

// A textbookHierarchy is three of them.
type textbookHierarchy struct {
	i1, d1, ll *textbook
	minLine    int
}

func (h *textbookHierarchy) reference(fetch bool, addr uint64, size int) (l1, ll bool) {
	first := h.d1
	if fetch {
		first = h.i1
	}
	size = min(size, h.minLine)
	if l1 = first.misses(addr, size); l1 {
		ll = h.ll.misses(addr, size)
	}
	return l1, ll
}

// compare makes references to both implementations.
func compare(t *testing.T, c Config, references func(ref func(fetch bool, addr uint64, size int))) {
	t.Helper()
	require.NoError(t, c.Check())
	model := NewHierarchy(c)
	want := &textbookHierarchy{newTextbook(c.I1), newTextbook(c.D1), newTextbook(c.LL), c.MinLine()}
	n := 0
	references(func(fetch bool, addr uint64, size int) {
		do := model.Data
		if fetch {
			do = model.Fetch
		}
		l1, ll := do(addr, size)
		wantL1, wantLL := want.reference(fetch, addr, size)
		if l1 != wantL1 || ll != wantLL {
			t.Fatalf("%v: reference %d (fetch %v, %#x, %d bytes): missed %v %v, want %v %v",
				c, n, fetch, addr, size, l1, ll, wantL1, wantLL)
		}
		n++
	})
}

// geometries are small enough to be thrashed, and of every shape: direct-mapped, fully
// associative, of ways that are no power of two, of one set, of unequal lines.
var geometries = []Config{
	{Geometry{256, 2, 32}, Geometry{512, 2, 32}, Geometry{4096, 4, 64}},
	{Geometry{256, 1, 32}, Geometry{512, 1, 64}, Geometry{1024, 1, 32}},
	{Geometry{256, 8, 32}, Geometry{512, 8, 64}, Geometry{1024, 32, 32}},
	{Geometry{3 * 128, 3, 32}, Geometry{12 * 128, 12, 64}, Geometry{5 * 1024, 5, 128}},
	{Geometry{64, 1, 32}, Geometry{64, 2, 32}, Geometry{128, 1, 64}},
	{Geometry{4096, 2, 128}, Geometry{4096, 4, 32}, Geometry{2048, 4, 64}}, // LL smaller than the others
	Default,
}

func TestAgainstTextbook(t *testing.T) {
	for n, c := range geometries {
		rnd := rand.New(rand.NewPCG(1, uint64(n)))
		compare(t, c, func(ref func(bool, uint64, int)) {
			for range 200_000 {
				addr := rnd.Uint64N(4 * uint64(c.LL.Size))
				switch rnd.Uint64N(4) {
				case 0: // what follows each other is near
					addr = uint64(c.D1.Size) + rnd.Uint64N(256)
				case 1: // all in one set
					addr = addr / 64 % 24 * uint64(c.LL.Size)
				}
				ref(rnd.Uint64N(3) == 0, addr, 1+rnd.IntN(40))
			}
		})
	}
}

// FuzzAccess makes references of the input's making: three bytes each.
func FuzzAccess(f *testing.F) {
	f.Add(uint8(0), []byte("abcabcABCabc"))
	f.Add(uint8(1), []byte{0, 0, 7, 0, 1, 7, 0, 2, 7, 0, 0, 7})
	f.Add(uint8(2), []byte{31, 0, 63, 31, 0, 62, 0xff, 0xff, 0xff})
	f.Add(uint8(4), []byte{30, 0, 3, 62, 0, 3, 30, 0, 3, 94, 0, 3, 30, 0, 2})
	f.Fuzz(func(t *testing.T, geometry uint8, data []byte) {
		small := geometries[:len(geometries)-1] // Default's LL takes time to make
		compare(t, small[int(geometry)%len(small)], func(ref func(bool, uint64, int)) {
			for ; len(data) >= 3; data = data[3:] {
				ref(data[2]&0x80 != 0, uint64(data[0])|uint64(data[1])<<8, 1+int(data[2]&0x3f))
			}
		})
	})
}

// TestAccess has what the specification states, reference by reference.
func TestAccess(t *testing.T) {
	type access struct {
		addr uint64
		size int
		miss bool
	}
	for _, tt := range []struct {
		name     string
		geometry Geometry
		accesses []access
	}{
		{"direct-mapped: lines of a set replace each other", Geometry{128, 1, 32}, []access{
			{0x1000, 4, true}, {0x101c, 4, false}, {0x1080, 4, true}, {0x1000, 4, true}, {0x1020, 4, true}, {0x1000, 4, false},
		}},
		{"the least recently used way goes", Geometry{64, 2, 32}, []access{
			{0x1000, 1, true}, {0x2000, 1, true}, {0x1000, 1, false}, {0x3000, 1, true}, {0x1000, 1, false}, {0x2000, 1, true},
		}},
		{"a straddling reference uses both lines", Geometry{256, 2, 32}, []access{
			{0x101e, 4, true}, {0x1000, 4, false}, {0x1020, 4, false},
		}},
		{"and misses if one of them does", Geometry{256, 2, 32}, []access{
			{0x1000, 4, true}, {0x101e, 4, true}, {0x103e, 4, true}, {0x101e, 4, false},
		}},
		{"a reference may fill a line", Geometry{256, 2, 32}, []access{
			{0x1000, 32, true}, {0x1001, 32, true}, {0x1020, 32, false},
		}},
		{"a new cache holds line 0", Geometry{256, 2, 32}, []access{
			{0, 4, false}, {0x20, 4, true},
		}},
		{"the last line but one, and line 0 after it", Geometry{256, 2, 32}, []access{
			{^uint64(0) - 31, 32, true}, {^uint64(0) - 30, 32, false},
		}},
	} {
		c := New(tt.geometry)
		for i, a := range tt.accesses {
			require.Equal(t, a.miss, c.Access(a.addr, a.size), "%s: %d", tt.name, i)
		}
	}
}

// TestHierarchy checks what reaches LL: references that missed, whole, in program order.
func TestHierarchy(t *testing.T) {
	h := NewHierarchy(Config{Geometry{64, 1, 32}, Geometry{64, 1, 32}, Geometry{256, 2, 64}})
	check := func(wantL1, wantLL, l1, ll bool) {
		t.Helper()
		require.Equal(t, []bool{wantL1, wantLL}, []bool{l1, ll})
	}
	miss := func(l1, ll bool) { t.Helper(); check(true, true, l1, ll) }
	hitLL := func(l1, ll bool) { t.Helper(); check(true, false, l1, ll) }
	hit := func(l1, ll bool) { t.Helper(); check(false, false, l1, ll) }
	miss(h.Fetch(0x1000, 4))
	hit(h.Fetch(0x1004, 4))
	hitLL(h.Data(0x1004, 4)) // I1 and D1 share LL
	hit(h.Data(0x1000, 4))
	hitLL(h.Data(0x1024, 4)) // the same line of LL
	miss(h.Data(0x103e, 4))  // half of it is in D1, and in LL
	hit(h.Data(0x1040, 4))
	// More than a line counts as a line: 0x1060 stays where it was.
	miss(h.Data(0x10c0, 160))
	hit(h.Data(0x10c0, 32))
	hitLL(h.Data(0x1040, 8))
}

func TestAccessPanics(t *testing.T) {
	c := New(Geometry{256, 2, 32})
	for _, size := range []int{0, -1, 33} {
		require.Panics(t, func() { c.Access(0x1000, size) }, "%d bytes", size)
	}
	require.Panics(t, func() { New(Geometry{100, 1, 32}) })
}

func BenchmarkData(b *testing.B) {
	h := NewHierarchy(Default)
	for i := range b.N {
		h.Data(uint64(i)*8%(1<<20), 8)
	}
}
