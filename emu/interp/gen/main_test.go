package main

import (
	"go/format"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGenerated holds the files in the package to what is generated: a merge may have made another text of them.
func TestGenerated(t *testing.T) {
	for name, text := range files() {
		want, err := format.Source(text)
		require.NoError(t, err, name)
		got, err := os.ReadFile(filepath.Join("..", name))
		require.NoError(t, err)
		require.True(t, string(want) == string(got), "%s: go generate ./emu/interp", name)
	}
}
