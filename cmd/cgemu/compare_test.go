package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/cgout"
)

// TestCompareHostileNames has names of functions and files that would do something to a terminal.
func TestCompareHostileNames(t *testing.T) {
	profile := func(n string) *cgout.Profile {
		p, err := cgout.Read("x", strings.NewReader("cmd: x\nevents: Ir\nfl=a\x1b[2J.c\nfn=f\x1b]0;x\x07\n1 "+n+"\nsummary: "+n+"\n"))
		require.NoError(t, err)
		return p
	}
	var out strings.Builder
	require.NoError(t, writeDifference(&out, "old", "new", profile("1000"), profile("3000")))
	require.Contains(t, out.String(), `+2,000  1,000  -> 3,000  f\x1b]0;x\x07  a\x1b[2J.c`)
	require.NotContains(t, out.String(), "\x1b")
}
