package profiler

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
)

// TestNotedCounts notes counts of all sizes at addresses near and far: they come back as they were, in the same order.
func TestNotedCounts(t *testing.T) {
	type count struct {
		a emu.Addr
		e emu.Event
		n uint64
	}
	list := []count{{0, 0, 1}, {math.MaxUint64, emu.NumEvents - 1, math.MaxUint64}, {0, 1, 0}}
	r := rand.New(rand.NewPCG(1, 2))
	for range 50_000 {
		a := list[len(list)-1].a + emu.Addr(r.IntN(16))
		if r.IntN(10) == 0 {
			a = emu.Addr(r.Uint64())
		}
		list = append(list, count{a, emu.Event(r.IntN(int(emu.NumEvents))), r.Uint64() >> r.IntN(64)})
	}
	var c notedCounts
	for _, x := range list {
		c.add(x.a, x.e, x.n)
	}
	require.Greater(t, len(c.chunks), 1)
	var got []count
	c.each(func(a emu.Addr, e emu.Event, n uint64) { got = append(got, count{a, e, n}) })
	require.Equal(t, list, got)
	c.each(func(emu.Addr, emu.Event, uint64) { t.Fatal("they are forgotten") })
}
