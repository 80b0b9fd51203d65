package dwarfmap

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFunctions finds each function where the program headers place it, aliases too.
func TestFunctions(t *testing.T) {
	o, err := Open("../testdata/guest", Options{})
	require.NoError(t, err)
	defer o.Close()
	at := map[string]uint64{}
	o.Functions(func(off uint64, symbol string) { at[symbol] = off })
	require.NoError(t, o.Err())
	for _, symbol := range []string{"main", "malloc", "__libc_malloc"} {
		off, ok := at[symbol]
		require.True(t, ok, symbol)
		vaddr, ok := o.VAddr(off)
		require.True(t, ok, symbol)
		back, ok := o.fileOffset(vaddr)
		require.True(t, ok, symbol)
		require.Equal(t, off, back, symbol)
	}
	vaddr, _ := o.VAddr(at["main"])
	require.Equal(t, "main", o.Lookup(vaddr).Func)
	require.NotContains(t, at, "")
	_, ok := o.fileOffset(1 << 40)
	require.False(t, ok)
}

// TestUnnamed asks for what no function holds in front of all else, and behind: also of addresses that hold no code.
func TestUnnamed(t *testing.T) {
	open := func() *Object {
		o, err := Open("../testdata/guest", Options{})
		require.NoError(t, err)
		t.Cleanup(func() { o.Close() })
		return o
	}
	o := open()
	var functions []uint64
	o.Functions(func(off uint64, _ string) {
		vaddr, ok := o.VAddr(off)
		require.True(t, ok)
		functions = append(functions, vaddr)
	})
	for _, addr := range []uint64{0, 1, 1 << 40, functions[0] - 1, functions[0] &^ 0xfffff} {
		lo, hi, linkage := open().Unnamed(addr)
		require.False(t, linkage)
		for _, f := range functions {
			require.False(t, lo <= f && f < hi, "%#x: [%#x, %#x) has a function at %#x", addr, lo, hi, f)
		}
	}
}

func TestDemangledSymbol(t *testing.T) {
	for symbol, want := range map[string]string{
		"main": "main", "_ZN2ns1fEi": "ns::f(int)", "_RNvC3foo3bar": "foo::bar", "_Znwm": "operator new(unsigned long)",
	} {
		require.Equal(t, want, Demangled(symbol))
	}
}
