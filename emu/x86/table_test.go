package x86

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// reachable returns the forms the decision trees lead to.
func reachable(t *testing.T) map[uint16]bool {
	t.Helper()
	size := map[uint16]int{byPrefix: 4, byReg: 8, byMod: 2, byRM: 8, byW: 2, byL: 4, byOpSize: 3, byB: 2}
	found, seen := map[uint16]bool{}, map[uint16]bool{}
	var walk func(v uint16)
	walk = func(v uint16) {
		switch {
		case v == 0 || seen[v]:
			return
		case v&leaf != 0:
			found[v&^leaf] = true
			return
		}
		seen[v] = true
		n, ok := size[nodes[v]]
		require.True(t, ok, "node %d decides by %d", v, nodes[v])
		for _, next := range nodes[v+1 : int(v)+1+n] {
			walk(next)
		}
	}
	for _, m := range roots {
		for _, v := range m {
			walk(v)
		}
	}
	return found
}

func TestTableComplete(t *testing.T) {
	found := reachable(t)
	ops := map[Op]bool{}
	for i := range forms {
		f := &forms[i]
		require.True(t, found[uint16(i)], "form %d, %s, is never chosen", i, f.op)
		require.NotEqual(t, OpNone, f.op)
		require.Less(t, int(f.feature), len(featureNames), f.op)
		ops[f.op] = true
		checkForm(t, f)
	}
	require.Len(t, ops, len(opNames)-1, "an Op that no form has")
}

// checkForm looks for contradictions within one form.
func checkForm(t *testing.T, f *form) {
	t.Helper()
	for _, a := range f.args[:f.nargs] {
		require.NotEqual(t, locNone, a.loc, f.op)
		require.NotZero(t, a.access, f.op)
		switch a.loc {
		case locE, locM, locW, locQ, locKw, locO:
			// What has no size names its references, or has none.
			require.True(t, a.size != 0 || f.refs != 0 || f.attr&attrSIB != 0, "%s: memory without size", f.op)
		case locR, locG, locB, locZ, locA:
			require.NotZero(t, a.size, f.op)
		}
	}
	for _, r := range refLists[f.refs] {
		require.True(t, r.count != 0 || r.div != 0, f.op)
	}
	if f.attr&(attrLock|attrLock1) != 0 {
		require.NotZero(t, f.args[0].access&accessW, f.op)
	}
	if f.attr&attrCount != 0 {
		require.Contains(t, []loc{locu, locCL}, f.args[f.nargs-1].loc, f.op)
	}
}

func TestNames(t *testing.T) {
	for _, names := range [][]string{opNames[:], featureNames[:]} {
		seen := map[string]bool{}
		for _, n := range names {
			require.NotEmpty(t, n)
			require.False(t, seen[n], n)
			seen[n] = true
		}
	}
	require.Equal(t, "MOVZX", MOVZX.String())
	require.Equal(t, "avx512f", FeatAVX512F.String())
	require.Equal(t, "Op(65535)", Op(65535).String())
	require.Equal(t, "Feature(255)", Feature(255).String())
	require.Equal(t, FeatBASE, Feature(0))
}
