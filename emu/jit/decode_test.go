//go:build linux && amd64

package jit

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
)

// TestRefusedAgain executes an instruction that is refused, over and over, as a program does that handles SIGILL:
// nothing is kept of it each time.
func TestRefusedAgain(t *testing.T) {
	m := newMachine(t, "90 0f 0b")
	for range 100 {
		m.cpu.RIP = codeAt
		m.run(emu.StopFault)
		require.LessOrEqual(t, len(m.decoded), 2)
	}
}
