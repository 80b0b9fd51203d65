package hooks

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/branchsim"
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/x86"
)

func TestRepeatOf(t *testing.T) {
	for _, tt := range []struct {
		name string
		code []byte
		want Repeat
	}{
		{"movsb", []byte{0xa4}, NoRepeat},
		{"rep movsb", []byte{0xf3, 0xa4}, RepeatCount},
		{"rep stosq", []byte{0xf3, 0x48, 0xab}, RepeatCount},
		{"rep lodsb", []byte{0xf3, 0xac}, RepeatCount},
		{"repe cmpsb", []byte{0xf3, 0xa6}, RepeatEqual},
		{"repne scasb", []byte{0xf2, 0xae}, RepeatUnequal},
		{"repne cmpsb", []byte{0xf2, 0xa6}, RepeatUnequal},
		{"repne movsb", []byte{0xf2, 0xa4}, RepeatCount},
		{"add", []byte{0x01, 0xc0}, NoRepeat},
		{"rep ret", []byte{0xf3, 0xc3}, NoRepeat},
	} {
		var i x86.Inst
		require.NoError(t, x86.Decode(tt.code, &i), tt.name)
		require.Equal(t, tt.want, RepeatOf(&i), tt.name)
		require.Equal(t, NoRepeat, CountedRepeat(&i, &emu.Config{RepOnce: true}), tt.name)
	}
}

func TestRequestAt(t *testing.T) {
	tails := map[byte]Request{0xdb: CallTool, 0xc9: OriginalAddr, 0xd2: CallOriginal, 0xff: Inject, 0xc0: NoRequest}
	for tail, want := range tails {
		code := append([]byte(preamble), 0x48, 0x87, tail)
		require.Len(t, code, RequestLen)
		require.Equal(t, want, RequestAt(code), "tail %#x", tail)
		require.Equal(t, NoRequest, RequestAt(code[:RequestLen-1]), "cut short")
		for i := range code[:18] {
			code[i] ^= 1
			require.Equal(t, NoRequest, RequestAt(code), "byte %d differs", i)
			code[i] ^= 1
		}
	}
}

// TestBranches has a predictor learn the same from the branches that are told of as from all of them.
func TestBranches(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		it := Iterations{N: uint64(r.IntN(40)), conditional: r.IntN(2) == 0}
		switch {
		case it.conditional && it.N > 0 && r.IntN(2) == 0:
			it.byCondition = true
		case r.IntN(2) == 0:
			it.unfinished = true
		}
		var told, all branchsim.Predictor
		at := uint64(r.IntN(128))
		for range r.IntN(30) {
			a, taken := at+uint64(r.IntN(2)), r.IntN(2) == 0
			told.Conditional(a, taken)
			all.Conditional(a, taken)
		}
		missed, wantMissed, n := 0, 0, uint64(0)
		counted := it.Branches(func(taken bool) {
			if told.Conditional(at, taken) {
				missed++
			}
		})
		branch := func(taken bool) {
			n++
			if all.Conditional(at, taken) {
				wantMissed++
			}
		}
		for k := range it.N {
			branch(true)
			if it.conditional {
				branch(!it.byCondition || k+1 < it.N)
			}
		}
		if !it.byCondition && !it.unfinished {
			branch(false)
		}
		require.Equal(t, n, counted, "%+v", it)
		require.Equal(t, wantMissed, missed, "%+v", it)
		// What they remember beyond the last outcomes goes with 64 further ones.
		for range 64 {
			a, taken := at+uint64(r.IntN(2)), r.IntN(2) == 0
			told.Conditional(a, taken)
			all.Conditional(a, taken)
		}
		require.True(t, told == all, "%+v", it)
	}
}
