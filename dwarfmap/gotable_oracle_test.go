//go:build oracles

package dwarfmap

import (
	"debug/elf"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGoTableCgo has a stripped program that a C compiler's linker made, with C code in front of Go's, give Go's
// functions and lines where the same program with symbols and DWARF has them.
func TestGoTableCgo(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":  "module main\n\ngo 1.24\n",
		"main.go": goProgram,
		"c.go":    "package main\n\n// int twice(int x) { return 2 * x; }\nimport \"C\"\n\nvar four = C.twice(2)\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	t.Setenv("CGO_ENABLED", "1")
	tool(t, dir, "go", "build", "-ldflags=-linkmode=external", "-o", "full", ".")
	tool(t, dir, "go", "build", "-ldflags=-linkmode=external -s -w", "-o", "stripped", ".")
	full, stripped := openPath(t, filepath.Join(dir, "full")), openPath(t, filepath.Join(dir, "stripped"))
	f, err := elf.Open(filepath.Join(dir, "full"))
	require.NoError(t, err)
	defer f.Close()
	require.Less(t, f.Section(".text").Addr, full.goTable().text, "C code comes first")
	symbols, err := f.Symbols()
	require.NoError(t, err)
	functions := 0
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) != elf.STT_FUNC || !strings.HasPrefix(s.Name, "main.") && !strings.HasPrefix(s.Name, "fmt.") {
			continue
		}
		functions++
		want, got := full.Lookup(s.Value), stripped.Lookup(s.Value)
		want.Func = strings.TrimSuffix(want.Func, ".abi0")
		require.Equal(t, want.Func, got.Func)
		if want.File != Unknown {
			require.Equal(t, want, got)
		}
	}
	require.NoError(t, stripped.Err())
	require.Greater(t, functions, 30)
}
