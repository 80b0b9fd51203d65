//go:build linux && amd64

package jit

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
)

// TestEmptyPages jumps and calls to code that lies far apart: each lookup finds a page of the table without entries first, and an entry later.
func TestEmptyPages(t *testing.T) {
	const at, apart, n = 0x20000000, 0x600, 200
	const loops = `
		ff d7                # loop: call rdi
		48 89 f8             # mov rax, rdi
		48 83 c0 10          # add rax, 16
		ff e0                # jmp rax, to where it jumps back to back
		48 01 df             # back: add rdi, rbx
		48 ff c9             # dec rcx
		75 ed                # jnz loop
		0f 05                # syscall`
	for name, cfg := range map[string]emu.Config{"Ir": {}, "calls": {Function: sixteen}} {
		t.Run(name, func(t *testing.T) {
			m := newMachineWith(t, cfg, loops)
			require.NoError(t, m.mem.Map(mem.VMA{Lo: at, Hi: at + n*apart, Prot: mem.Read | mem.Write | mem.Exec}, nil))
			for i := range emu.Addr(n) {
				m.poke(at+i*apart, "48 ff c2 c3") // inc rdx; ret
				m.poke(at+i*apart+16, "41 ff e0") // jmp r8
			}
			for i := range 3 {
				m.cpu.RIP, m.cpu.Regs[emu.RDX], m.cpu.Regs[emu.R8] = codeAt, 0, uint64(codeAt+11)
				m.cpu.Regs[emu.RDI], m.cpu.Regs[emu.RBX], m.cpu.Regs[emu.RCX] = at, apart, n
				m.run(emu.StopSyscall)
				require.EqualValues(t, n, m.cpu.Regs[emu.RDX])
				require.EqualValues(t, (i+1)*(10*n+1), m.Executed(), fmt.Sprint("run ", i))
				if i == 1 { // all is to be learnt anew
					m.flush()
				}
			}
			page, entry := m.table.page(at)
			require.NotEqual(t, m.table.miss, page[entry])
			require.Equal(t, m.table.miss, page[entry+1])
			page, _ = m.table.page(at + 0x200)
			require.Zero(t, page[0])
		})
	}
}

// TestUnfilled tells jumps to 0 apart: lookups have the table's address in a register. Where the shadow stack lies low, what takes RSP there may be taken for code's address.
func TestUnfilled(t *testing.T) {
	const pushed = 2
	for name, tt := range map[string]struct {
		rip, table, target uint64 // pushed: where calls go on whose frame is there
		lookup, called     bool   // unless calls are recorded, and if they are
	}{
		"a lookup":          {0, 1, 0x1000, true, true},
		"a call's":          {pushed, pushed, 0x1000, false, true},
		"an indirect one's": {calledAt, calledAt, 0x1000, false, true},
		"RET":               {0, 0, 0x1000, false, false},
		"RET, shadow above": {0, 1, uint64(maxCode), false, false},
		"RET to elsewhere":  {pushed, 1, 0x1000, false, false},
		"another fault":     {0x400000, 1, 0x1000, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			for calls, want := range map[bool]bool{false: tt.lookup, true: tt.called} {
				cfg := emu.Config{}
				if calls {
					cfg.Function = sixteen
				}
				m := newMachineWith(t, cfg, "0f 05")
				at := func(x uint64) uint64 {
					switch {
					case x == 1:
						return uint64(m.table.base)
					case x == pushed && calls:
						return uint64(m.calls.receivedSize())
					}
					return x
				}
				m.set(stSigRIP, at(tt.rip))
				m.set(stRegs+8*int(regTable), at(tt.table))
				m.set(stRegs+8*int(regTarget), tt.target)
				require.Equal(t, want, m.unfilled(), "calls: %v", calls)
			}
		})
	}
}
