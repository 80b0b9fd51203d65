//go:build linux && amd64

package enginetest

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
)

// TestInterruptKeepsFlags interrupts a loop in which flags are set in one block and read in another, far behind it.
func TestInterruptKeepsFlags(t *testing.T) {
	const rounds, between = 100_000, 30
	code := []byte{0x39, 0xd1}                                        // loop: cmp ecx, edx
	code = append(code, bytes.Repeat([]byte{0xeb, 0x00}, between)...) // jmp to what follows
	code = append(code, 0x48, 0x83, 0xd6, 0x00, 0xff, 0xc1)           // adc rsi, 0; inc ecx
	code = append(code, 0x75, byte(-len(code)-2), 0xcc)               // jnz loop; int3
	for _, u := range engines {
		t.Run(u.name, func(t *testing.T) {
			m := newRefuser(t, u, u.model(t))
			m.space.Poke(worlds[0], code)
			done, over := make(chan bool), make(chan bool)
			go func() {
				defer close(over)
				for {
					select {
					case <-done:
						return
					default:
						m.engine.Interrupt()
					}
				}
			}()
			defer func() {
				close(done)
				<-over
			}()
			for stops := 0; stops < 20; {
				c := emu.NewCPU()
				c.RIP = worlds[0]
				c.Regs[emu.RCX], c.Regs[emu.RDX] = 1<<32-rounds, 1<<32-rounds/2
				stop := m.engine.Run(c, emu.NoBudget)
				for ; stop.Reason == emu.StopInterrupt; stops++ {
					stop = m.engine.Run(c, emu.NoBudget)
				}
				require.Equal(t, emu.StopFault, stop.Reason)
				require.EqualValues(t, rounds/2, c.Regs[emu.RSI])
			}
		})
	}
}
