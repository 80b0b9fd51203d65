//go:build linux && amd64

package main

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/cachesim"
)

// TestPresetsAreListed checks that --help and the manual have every preset.
func TestPresetsAreListed(t *testing.T) {
	manual, err := os.ReadFile("../../docs/manual.md")
	require.NoError(t, err)
	for _, p := range cachesim.Presets {
		assert.Regexp(t, `\b`+p.Name+`\b`, runCommand().Help("cgemu"))
		c := p.Config
		assert.Contains(t, string(manual), fmt.Sprintf("\n| `%s` | %v | %v | %v | ", p.Name, c.I1, c.D1, c.LL))
	}
}

// TestHostCaches asks for the host's caches, which some hosts do not tell.
func TestHostCaches(t *testing.T) {
	want, warning, err := cachesim.Host()
	o, _, parseErr := parseOptions([]string{"--cache=host", "prog"})
	if err != nil {
		require.ErrorContains(t, parseErr, "--cache=host: cannot detect the host's caches: ")
		return
	}
	require.NoError(t, parseErr)
	assert.Equal(t, want, o.caches)
	assert.Equal(t, warning, o.cacheWarning)
	o, _, err = parseOptions([]string{"--cache=host", "--LL=zen", "prog"})
	require.NoError(t, err)
	assert.Equal(t, cachesim.Config{I1: want.I1, D1: want.D1, LL: cachesim.Geometry{Size: 8 << 20, Assoc: 16, Line: 64}}, o.caches)
	assert.Empty(t, o.cacheWarning, "the host's LL is not used")
	o, _, err = parseOptions([]string{"--LL=host", "prog"})
	require.NoError(t, err)
	assert.Equal(t, cachesim.Config{I1: cachesim.Default.I1, D1: cachesim.Default.D1, LL: want.LL}, o.caches)
	assert.Equal(t, warning, o.cacheWarning)
}
