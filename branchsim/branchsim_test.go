package branchsim

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// outcomes writes what a predictor said to branches: x for a misprediction.
func outcomes(p *Predictor, addr uint64, taken string) string {
	said := ""
	for _, t := range taken {
		if p.Conditional(addr, t == 'T') {
			said += "x"
		} else {
			said += "."
		}
	}
	return said
}

func TestConditional(t *testing.T) {
	for _, tt := range []struct{ name, taken, want string }{
		{"never taken", "NNNNNNNN", "........"},
		// The history is all ones after seven branches: until then each has a counter of its own.
		{"always taken", "TTTTTTTTTTTT", "xxxxxxxxx..."},
		// In front of T the history is 0101010 from the fourth T on: two of them to learn.
		{"alternating", "TNTNTNTNTNTNTNTNTNTN", "x.x.x.x.x..........."},
	} {
		require.Equal(t, tt.want, outcomes(&Predictor{}, 0x401000, tt.taken), tt.name)
	}
}

// TestCounterSaturates leaves a counter at its end: one step back does not change its prediction.
func TestCounterSaturates(t *testing.T) {
	var p Predictor
	for range 300 {
		p.Conditional(0x10, true)
	}
	require.True(t, p.Conditional(0x10, false))
	for range 7 { // back to a history of ones
		p.Conditional(0x20, true)
	}
	require.False(t, p.Conditional(0x10, true), "two steps up, one down")
	p = Predictor{}
	for range 300 {
		p.Conditional(0x10, false)
	}
	require.True(t, p.Conditional(0x10, true))
	for range 7 {
		p.Conditional(0x20, false)
	}
	require.True(t, p.Conditional(0x10, true), "one step up from nothing")
	for range 7 {
		p.Conditional(0x20, false)
	}
	require.False(t, p.Conditional(0x10, true), "two steps up")
}

// TestAliases checks which branches share a counter or a target.
func TestAliases(t *testing.T) {
	for _, tt := range []struct {
		other  uint64
		shares bool
	}{{0x401000 + 128, true}, {0x401000, true}, {0x401001, false}, {0x401040, false}} {
		var p Predictor
		train := func(addr uint64) {
			for range 20 {
				p.Conditional(addr, true)
			}
		}
		train(0x401000)
		require.Equal(t, !tt.shares, p.Conditional(tt.other, true), "%#x", tt.other)
	}
	for _, tt := range []struct {
		other  uint64
		shares bool
	}{{0x401000 + 512, true}, {0x401000, true}, {0x401001, false}, {0x401100, false}} {
		var p Predictor
		require.True(t, p.Indirect(0x401000, 0x77))
		require.Equal(t, !tt.shares, p.Indirect(tt.other, 0x77), "%#x", tt.other)
	}
}

func TestIndirect(t *testing.T) {
	var p Predictor
	require.False(t, p.Indirect(5, 0), "all targets are 0 at first")
	require.True(t, p.Indirect(5, 0x1000))
	require.False(t, p.Indirect(5, 0x1000))
	require.True(t, p.Indirect(5, 0x2000))
	require.True(t, p.Indirect(5, 0x1000))
}

// A textbook is the same predictor from the words of the specification: numbers are lists of
// digits, tables are maps of what was ever used.
type textbook struct {
	history  []bool            // oldest first
	counters map[[14]bool]int  // by 7 outcomes, oldest first, then 7 bits of the address, high first
	targets  map[uint64]uint64 // by the low 9 bits of the address
}

func (p *textbook) conditional(addr uint64, taken bool) (miss bool) {
	var key [14]bool
	recent := append(make([]bool, 7), p.history...)
	copy(key[:7], recent[len(recent)-7:])
	for i := range 7 {
		key[7+i] = addr/[]uint64{64, 32, 16, 8, 4, 2, 1}[i]%2 == 1
	}
	was := p.counters[key]
	p.history = append(p.history, taken)
	if taken && was < 3 {
		p.counters[key]++
	}
	if !taken && was > 0 {
		p.counters[key]--
	}
	return slices.Contains([]int{2, 3}, was) != taken
}

func (p *textbook) indirect(addr, target uint64) (miss bool) {
	miss = p.targets[addr%512] != target
	p.targets[addr%512] = target
	return miss
}

// compare sends branches to both predictors: two bytes of data each.
func compare(t *testing.T, data []byte) {
	t.Helper()
	var p Predictor
	want := textbook{counters: map[[14]bool]int{}, targets: map[uint64]uint64{}}
	for i := 0; i+1 < len(data); i += 2 {
		addr, what := 0x400f80+uint64(data[i])*3, data[i+1]
		if what&1 == 0 {
			taken := what&2 != 0
			require.Equal(t, want.conditional(addr, taken), p.Conditional(addr, taken), "branch %d", i/2)
		} else {
			target := uint64(what >> 5)
			require.Equal(t, want.indirect(addr, target), p.Indirect(addr, target), "branch %d", i/2)
		}
	}
}

func TestAgainstTextbook(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	data := make([]byte, 20_000)
	for i := range data {
		data[i] = byte(rnd.UintN(256))
		if i%2 == 0 && i > len(data)/2 {
			data[i] &= 7 // few addresses: their counters learn
		}
	}
	compare(t, data)
}

func FuzzPredictor(f *testing.F) {
	f.Add([]byte("\x00\x02\x00\x02\x00\x00\x00\x02"))
	f.Add([]byte("\x01\x21\x01\x21\x01\x41\x02\x02"))
	f.Fuzz(func(t *testing.T, data []byte) { compare(t, data) })
}
