package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/check"
)

// TestGoneHostileNames has a baseline with a name that would do something to a terminal.
func TestGoneHostileNames(t *testing.T) {
	var said strings.Builder
	c := &checkCommand{stderr: &said}
	c.tellGone(&check.Manifest{Baseline: "cgemu.baseline"}, check.Baseline{"z\x1b[31m": &check.Counts{}})
	require.Equal(t, `cgemu check: cgemu.baseline has counts of z\x1b[31m, which the manifest does not have any more: --update takes them out`+"\n", said.String())
}
