//go:build linux && !portable

package syscalls

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// TestNoGarbage makes calls that programs make most often, many times: none of them leaves anything to collect.
func TestNoGarbage(t *testing.T) {
	g := newGuest(t)
	fd := g.ok(nr("open"), g.str("file"), linux.O_CREAT|linux.O_RDWR, 0o600)
	at := g.room(64)
	const calls = 1000
	for _, tt := range []struct {
		name string
		args []uint64
	}{
		{"read", []uint64{fd, at, 1}},
		{"write", []uint64{fd, at, 1}},
		{"pread64", []uint64{fd, at, 10, 50}},
		{"pwrite64", []uint64{fd, at, 10, 50}},
		{"clock_gettime", []uint64{linux.CLOCK_MONOTONIC, at}},
		{"getppid", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			made := 0
			var before, after runtime.MemStats
			g.eng.step = func(c *emu.CPU, _ uint64) emu.Stop {
				if made > 0 {
					require.Zero(t, result(c.Regs[emu.RAX]).err())
				}
				switch made++; made {
				case 10: // what is made once is there
					runtime.ReadMemStats(&before)
				case calls:
					runtime.ReadMemStats(&after)
					g.k.Canceled.Store(true)
					return emu.Stop{Reason: emu.StopInterrupt}
				}
				g.load(c, nr(tt.name), tt.args...)
				return emu.Stop{Reason: emu.StopSyscall}
			}
			g.run()
			require.Less(t, after.Mallocs-before.Mallocs, uint64(calls/10))
		})
	}
}
