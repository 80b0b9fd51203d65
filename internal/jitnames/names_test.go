package jitnames

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// at is the name at an address, "" if there is none.
func at(n *Names, a uint64) string {
	f, ok := n.At(a)
	if ok && (a < f.Lo || a >= f.Hi) {
		return "elsewhere"
	}
	return f.Name
}

func TestNames(t *testing.T) {
	var n Names
	require.Equal(t, "", at(&n, 0x1000))
	require.True(t, n.Add(Function{0x1ff0, 0x3010, "a"}))
	require.True(t, n.Add(Function{0x2ff0, 0x3000, "b"}))
	require.True(t, n.Add(Function{5, 5, "none"}))
	require.True(t, n.Add(Function{5, 6, ""}))
	copied := n.Clone()
	require.True(t, n.Add(Function{0x3000, 0x3008, "c"}))
	for a, want := range map[uint64]string{0x1fef: "", 0x1ff0: "a", 0x2000: "a", 0x2fef: "a", 0x2ff0: "b", 0x2fff: "b", 0x3000: "c", 0x3008: "a", 0x300f: "a", 0x3010: "", 5: ""} {
		require.Equal(t, want, at(&n, a), "%#x", a)
	}
	require.Equal(t, "a", at(&copied, 0x3000))
	require.True(t, n.Add(Function{0x1000, 0x5000, "all"}))
	require.Equal(t, "all", at(&n, 0x3000))
	require.Equal(t, 4, n.entries, "what is covered is forgotten")
	require.False(t, n.Add(Function{0, maxSize + 1, "large"}))
	require.False(t, n.Add(Function{0, 1, strings.Repeat("x", maxText)}))
}

// TestNamesRandom compares with a table of all addresses.
func TestNamesRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var n Names
	table := make([]string, 3<<pageBits)
	for i := range 2000 {
		lo := r.IntN(len(table))
		hi := min(len(table), lo+r.IntN(1<<r.IntN(12)))
		name := fmt.Sprint("f", i)
		require.True(t, n.Add(Function{uint64(lo), uint64(hi), name}))
		for a := lo; a < hi; a++ {
			table[a] = name
		}
	}
	for a, want := range table {
		require.Equal(t, want, at(&n, uint64(a)))
	}
}

// TestNamesBounds adds functions that would take more and more memory.
func TestNamesBounds(t *testing.T) {
	var n Names
	for i := range uint64(3 * maxOnPage) { // each leaves one byte of those before
		require.True(t, n.Add(Function{1<<pageBits - 1 - i, 1<<pageBits - i, "x"}))
	}
	require.Len(t, n.pages[0], maxOnPage)
	require.Equal(t, maxOnPage, n.entries)
	n.entries = maxPages - 1
	require.False(t, n.Add(Function{0, 1<<pageBits + 1, "x"}))
	require.True(t, n.Add(Function{0, 1 << pageBits, "x"}))
	n.functions = maxFunctions
	require.False(t, n.Add(Function{1, 2, "x"}))
}
