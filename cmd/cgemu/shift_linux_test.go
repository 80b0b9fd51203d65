package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu/mem"
)

// TestShiftMemory has the memory of a second guest lie elsewhere than the first one's.
func TestShiftMemory(t *testing.T) {
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
