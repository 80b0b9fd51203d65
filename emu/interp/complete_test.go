package interp

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu/x86"
)

// TestCodes has every micro-operation have a name of its own: the translator finds codes by names.
func TestCodes(t *testing.T) {
	require.Len(t, codes(), len(codeNames))
	for _, f := range []family{leaCodes(), moveCodes(), moveImmCodes(), loadCodes(), storeCodes(), storeImmCodes()} {
		for _, code := range f {
			require.NotEqual(t, opNone, code)
		}
	}
	for op, forms := range arithmeticCodes() {
		for form, f := range forms {
			for _, size := range []uint16{1, 2, 4, 8} {
				require.NotEqual(t, opNone, f[0].of(size), "%s %s %d", op, form, size)
				require.NotEqual(t, opNone, f[1].of(size), "%s %s %d", op, form, size)
			}
		}
	}
	for c, f := range compareJumps() {
		for _, size := range []uint16{1, 4, 8} {
			if c.op == x86.CMP {
				require.NotEqual(t, opNone, f.of(size), "%v %d", c, size)
			}
		}
	}
}
