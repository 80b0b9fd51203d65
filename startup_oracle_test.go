//go:build oracles && linux && amd64

package cgemu_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu"
)

// TestStartup counts what the command executes before it does anything: tables that no run may look at are not to be
// made then.
func TestStartup(t *testing.T) {
	command := commandFor(t, "amd64")
	var counts []uint64
	for range 2 {
		got, r := guestRun(t, cgemu.Config{Path: command, Args: []string{"cgemu", "--version"}})
		require.Zero(t, got.status)
		counts = append(counts, r.Profile.Totals()[0])
	}
	require.Equal(t, counts[0], counts[1])
	require.Less(t, counts[0], uint64(11_000_000))
}
