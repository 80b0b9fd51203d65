package main

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDiagnosis(t *testing.T) {
	text, healthy := diagnosis([]finding{well("a", "%d", 1), noteOf("b", "lacks", "do")})
	require.Equal(t, "ok       a: 1\nnote     b: lacks\n           -> do\nPrograms can be run and counted here.\n", text)
	require.True(t, healthy)
	text, healthy = diagnosis([]finding{well("a", "is"), problemOf("b", "broke", "mend")})
	require.Contains(t, text, "problem  b: broke\n           -> mend\nPrograms cannot be counted")
	require.False(t, healthy)
}

// TestFindings has everything that is looked at be named once, and what is not well have something that helps.
func TestFindings(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range examine() {
		require.False(t, seen[f.what], f.what)
		seen[f.what] = true
		require.NotEmpty(t, f.found, f.what)
		require.Equal(t, f.state != "ok", f.cure != "", f.what)
	}
	require.Contains(t, seen, "host")
	require.Contains(t, seen, "annotate, diff, merge")
}

// TestElsewhere has a host without an engine be told what helps.
func TestElsewhere(t *testing.T) {
	require.EqualError(t, noEngine(errors.New("no engine runs here: why")), "no engine runs here: why\n"+elsewhere)
}
