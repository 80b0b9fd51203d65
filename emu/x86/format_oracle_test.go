//go:build oracles

package x86

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// formatDiffers are the instructions that objdump writes in a way of its own: prefixes without effect
// and several names of one instruction, predicates in the name, implied operands shown or not.
func formatDiffers(i *Inst, want string) bool {
	_, named := pseudo[i.Op]
	return i.Op == NOP || named || i.isString() || i.X87 || i.Op == XLAT || i.Op == XCHG ||
		strings.HasPrefix(i.Op.String(), "PREFETCH") || i.Op == ENDBR64 || i.Mem.VSIB && i.Enc != EVEX ||
		strings.HasPrefix(want, "rex") || strings.HasPrefix(want, "data16") || strings.HasPrefix(want, "cs ") ||
		strings.HasPrefix(want, "ds ") || strings.HasPrefix(want, "bnd ") || strings.HasPrefix(want, "notrack ") ||
		strings.HasPrefix(want, "repz ret") || strings.HasPrefix(want, "addr32 ") || strings.HasPrefix(want, "xacquire ")
}

// TestFormatObjdump compares with objdump over two libraries.
func TestFormatObjdump(t *testing.T) {
	normal := strings.NewReplacer("0x", "")
	for _, f := range []string{"/lib/x86_64-linux-gnu/libc.so.6", "/lib/x86_64-linux-gnu/libm.so.6"} {
		n, compared := 0, 0
		objdump(t, func(l line) {
			var i Inst
			if Decode(l.code, &i) != nil {
				return
			}
			n++
			want, _, _ := strings.Cut(l.text, "#")
			want, _, _ = strings.Cut(want, "<")
			want = strings.Join(strings.Fields(want), " ")
			if formatDiffers(&i, want) || i.Mem.RIPRel && i.Mem.Disp < 0 {
				return
			}
			compared++
			require.Equal(t, normal.Replace(want), normal.Replace(i.Format(l.addr)), "% x", l.code)
		}, "-d", f)
		require.Greater(t, compared, n*8/10, f)
	}
}
