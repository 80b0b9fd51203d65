package enginetest

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
)

// TestContextOfChangedCode changes the instruction in front of an indirect jump: one to a constant is no
// indirect branch, one to what was loaded is.
func TestContextOfChangedCode(t *testing.T) {
	const jump, target = 10, 12 // where they lie
	at := worlds[0]
	constant := binary.LittleEndian.AppendUint64([]byte{0x48, 0xb8}, uint64(at+target)) // mov $target,%rax
	// mov target+1(%rip),%rax; nopl (%rax)
	loaded := []byte{0x48, 0x8b, 0x05, target + 1 - 7, 0, 0, 0, 0x0f, 0x1f, 0x00}
	rest := binary.LittleEndian.AppendUint64([]byte{0xff, 0xe0, 0xcc}, uint64(at+target)) // jmp *%rax; int3
	for _, u := range engines {
		t.Run(u.name, func(t *testing.T) {
			m := newRefuser(t, u, u.model(t))
			defer m.space.Close()
			defer m.engine.Close()
			for i, code := range [][]byte{constant, loaded, constant, loaded} {
				o := m.execute(append(code[:len(code):len(code)], rest...))
				require.Equal(t, at+target+1, o.state.RIP)
				var bi uint64
				m.engine.Collect(at+jump, at+target, func(_ emu.Addr, e emu.Event, n uint64) {
					if e == emu.Bi {
						bi += n
					}
				})
				want := uint64(0)
				if u.simulates && i%2 == 1 {
					want = 1
				}
				require.Equal(t, want, bi, i)
			}
		})
	}
}
