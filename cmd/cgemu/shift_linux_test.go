package main

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu/mem"
)

// TestShiftMemory has the memory of a second guest lie elsewhere than the first one's, in a process of its own: other
// tests leave room for it in many places.
func TestShiftMemory(t *testing.T) {
	const alone = "CGEMU_TEST_SHIFT"
	if os.Getenv(alone) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestShiftMemory$", "-test.v")
		cmd.Env = append(os.Environ(), alone+"=1")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		require.Contains(t, string(out), "--- PASS: TestShiftMemory")
		return
	}
	base := func() uintptr {
		m, err := mem.New()
		require.NoError(t, err)
		defer m.Close()
		return m.Base()
	}
	first := base()
	defer shiftMemory()()
	require.NotEqual(t, first, base())
}
