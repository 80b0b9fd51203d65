//go:build linux && amd64

package enginetest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
)

// TestFileCutByOthers cuts a file that the guest has mapped, and accessed, as another program would: nobody tells the
// engine. The next access raises a fault, or is refused with a text that says why; that behind it raises the fault.
func TestFileCutByOthers(t *testing.T) {
	const fileAt = 0x20000000
	for _, u := range engines {
		if u.tolerates != nil {
			continue // libunicorn does not notice (RATIONALE.md, "How is guest memory kept in step?")
		}
		for name, code := range map[string][]byte{
			"load": {0x8b, 0x03}, "store": {0x89, 0x03}, "vector": {0xc5, 0xfd, 0x6f, 0x03}, "emulated": {0x0f, 0xb0, 0x03}, "x87": {0xdb, 0x2b}, "string": {0xf3, 0xaa},
		} {
			t.Run(u.name+"/"+name, func(t *testing.T) {
				m := newRefuser(t, u, u.model(t))
				path := filepath.Join(t.TempDir(), "file")
				require.NoError(t, os.WriteFile(path, make([]byte, emu.PageSize), 0o600))
				f, err := os.OpenFile(path, os.O_RDWR, 0)
				require.NoError(t, err)
				defer f.Close()
				v := mem.VMA{Lo: fileAt, Hi: fileAt + emu.PageSize, Prot: mem.Read | mem.Write, Shared: true, Ino: 7, Path: "/file"}
				require.NoError(t, m.space.Map(v, f))
				run := func() (emu.Stop, *emu.CPU) {
					c := emu.NewCPU()
					c.RIP = worlds[0]
					c.Regs[emu.RBX], c.Regs[emu.RDI], c.Regs[emu.RCX] = fileAt, fileAt, 3
					return m.engine.Run(c, u.budget), c
				}
				m.space.Poke(worlds[0], append(code, 0xcc))
				for range 2 {
					stop, _ := run()
					require.EqualValues(t, emu.VecBP, stop.Fault.Vector)
				}
				require.NoError(t, f.Truncate(0))
				stop, c := run()
				require.Equal(t, emu.StopFault, stop.Reason)
				if stop.Fault.Vector != emu.VecPF {
					require.True(t, u.interprets)
					require.Contains(t, stop.Fault.Unsupported, "/file, which another program made shorter")
					stop, c = run()
				}
				require.Equal(t, worlds[0], c.RIP)
				require.EqualValues(t, emu.VecPF, stop.Fault.Vector)
				require.True(t, stop.Fault.Bus)
				require.EqualValues(t, fileAt, stop.Fault.Addr)
			})
		}
	}
}
