//go:build oracles

package x86

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// binaries are programs and libraries to compare on, as glob patterns; those
// that are not installed are left out, but ten have to be there.
var binaries = []string{
	"/lib64/ld-linux-x86-64.so.2",
	"/lib/x86_64-linux-gnu/libc.so.6",
	"/lib/x86_64-linux-gnu/libm.so.6",
	"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
	"/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
	"/usr/lib/x86_64-linux-gnu/libsqlite3.so.0",
	"/usr/bin/python3.*[0-9]",
	"/usr/bin/perl",
	"/usr/bin/git",
	"/usr/bin/gdb",
	"/usr/bin/busybox",
	"/usr/lib/x86_64-linux-gnu/libx265.so.*",
	"/usr/lib/x86_64-linux-gnu/libopenblas*.so.0",
	"/usr/lib/x86_64-linux-gnu/libgmp.so.10",
	"/usr/libexec/valgrind/cachegrind-amd64-linux",
	"/usr/lib/go*/bin/go",
	"/usr/local/go/bin/go",
}

// TestObjdumpBinaries compares every instruction of real programs.
func TestObjdumpBinaries(t *testing.T) {
	files := []string{}
	for _, pattern := range binaries {
		m, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, f := range m {
			f, err := filepath.EvalSymlinks(f)
			require.NoError(t, err)
			if !slices.Contains(files, f) {
				files = append(files, f)
			}
		}
	}
	require.GreaterOrEqual(t, len(files), 10, "too few binaries to compare on")
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			t.Parallel()
			c := newTally()
			objdump(t, func(l line) { c.compare(l, l.code) }, "-d", f)
			c.report(t)
		})
	}
}
