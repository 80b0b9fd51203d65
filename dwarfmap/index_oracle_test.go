//go:build oracles

package dwarfmap

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOracleIndex compares the two ways of indexing in real files, at every address.
func TestOracleIndex(t *testing.T) {
	dir := sources(t)
	for _, tt := range []struct {
		command, file string
		byUnit        bool // whether units can be indexed one by one
	}{
		// With a debug file, from libc6-dbg.
		{"", "/lib64/ld-linux-x86-64.so.2", true},
		{"", "/lib/x86_64-linux-gnu/libc.so.6", true},
		{"gcc -g -O2 -o c one.c sub/two.c three.S -Iinc", "c", true},
		{"gcc -g -O2 -gdwarf-2 -static -o c2 one.c sub/two.c three.S -Iinc", "c2", true},
		{"gcc -g -O2 -flto -o lto one.c sub/two.c three.S -Iinc", "lto", true},
		{"gcc -g -ffunction-sections -Wl,--gc-sections -o gc one.c sub/two.c three.S -Iinc", "gc", true},
		{"g++ -g -O0 -std=c++17 -o cxx main.cc", "cxx", true},
		{"rustc -g -o rust main.rs", "rust", false}, // of its library most was removed
		{"go build -o go main.go", "go", true},
	} {
		file := filepath.Join(dir, tt.file)
		if args := strings.Fields(tt.command); len(args) > 0 {
			tool(t, dir, args[0], args[1:]...)
		} else {
			file = tt.file
		}
		lines, byUnit := sameIndexes(t, file)
		require.True(t, lines, tt.file)
		require.Equal(t, tt.byUnit, byUnit, tt.file)
	}
}
