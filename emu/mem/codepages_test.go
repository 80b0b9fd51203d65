//go:build linux && !portable

package mem

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
)

// TestCodePages looks at a file's code until its pages are given back: all but what was written to, which stays as it
// is.
func TestCodePages(t *testing.T) {
	const lo, n = emu.Addr(0x100000), 64
	if pagemap() < 0 {
		t.Skip("the host does not tell which pages are in use")
	}
	code := bytes.Repeat([]byte("0123456789abcdef"), n*int(emu.PageSize)/16)
	path := filepath.Join(t.TempDir(), "code")
	require.NoError(t, os.WriteFile(path, code, 0o600))
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	for name, scan := range map[string]bool{"scan": true, "read": false} {
		t.Run(name, func(t *testing.T) {
			was := noScan.Swap(!scan)
			defer noScan.Store(was)
			m := newSpace(t)
			require.NoError(t, m.Map(VMA{Lo: lo, Hi: lo + n*emu.PageSize, Prot: Read | Exec, Path: "/code"}, f))
			require.NoError(t, m.Map(VMA{Lo: 2 * lo, Hi: 2*lo + n*emu.PageSize, Prot: Read | Write | Exec, Path: "/code"}, f))
			require.Equal(t, 1, m.Poke(lo+3*emu.PageSize, []byte("!")))
			want := bytes.Clone(code)
			want[3*emu.PageSize] = '!'
			got := make([]byte, len(code))
			require.Equal(t, len(got), m.Fetch(2*lo, got))
			for fetched := len(got); fetched < fetchedMax; fetched += len(got) {
				require.Equal(t, len(got), m.Fetch(lo, got))
			}
			require.EqualValues(t, 1, present(t, m, lo, lo+n*emu.PageSize), "what was written to")
			require.EqualValues(t, n, present(t, m, 2*lo, 2*lo+n*emu.PageSize), "may be written to")
			require.Equal(t, len(got), m.Fetch(lo, got))
			require.True(t, bytes.Equal(want, got))
			require.EqualValues(t, n, present(t, m, lo, lo+n*emu.PageSize), "looked at again")
		})
	}
}
