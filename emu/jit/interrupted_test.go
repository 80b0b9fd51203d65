//go:build linux && amd64

package jit

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/cachesim"
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/x86"
)

// TestInterrupted has generated code interrupted in front of each of its instructions, again and again, while RSP is no
// canonical address, as a kernel under PVM does: all is as without.
func TestInterrupted(t *testing.T) {
	const code = `
		d9 e8              # fld1
		b9 03 00 00 00     # mov ecx, 3
		d9 ff              # 7: fcos
		d9 fe              # fsin
		d9 fb              # fsincos
		dd d9              # fstp st(1)
		d9 f0              # f2xm1
		d9 f2              # fptan
		d9 f9              # fyl2xp1
		d9 e8              # fld1
		d9 f3              # fpatan
		31 c0              # xor eax, eax
		89 cf              # mov edi, ecx
		0f a2              # cpuid
		89 f9              # mov ecx, edi
		0f 31              # rdtsc
		0f 53 ca           # rcpps xmm1, xmm2
		0f 52 ca           # rsqrtps xmm1, xmm2
		8b 06              # mov eax, [rsi]
		01 46 08           # add [rsi+8], eax
		48 8d 3d 02 00 00 00 # lea rdi, [34]
		ff e7              # jmp rdi
		48 ff c9           # 34: dec rcx
		75 cb              # jne 7
		0f 05              # syscall`
	for name, cfg := range map[string]emu.Config{
		"Ir": {}, "caches": {Caches: &cachesim.Default, Events: ^emu.EventSet(0)}, "branches": {Branches: true}, "calls": {Function: sixteen},
		"MMX": {Function: sixteen},
	} {
		t.Run(name, func(t *testing.T) {
			var m *interruptedMachine
			anew := func() {
				if m != nil {
					require.NoError(t, m.Close())
				}
				m = &interruptedMachine{machine: newMachineWith(t, cfg, code)}
				if name == "MMX" {
					m.onLesserHost(true)
				}
				m.start()
				for range 3 { // until all is translated, and linked
					m.goThrough(t, 0)
				}
			}
			anew()
			interrupted, want := 0, m.goThrough(t, 0)
			for _, pos := range m.instructions(t) {
				got := m.goThrough(t, pos)
				if m.canonical { // the host's stack was in use: no interrupt fails
					anew()
					continue
				}
				interrupted += b2i(m.times > 0)
				require.Equal(t, want, got, "interrupted at %#x", pos)
			}
			require.Greater(t, interrupted, 200)
		})
	}
}

// An interruptedMachine is one whose code is interrupted at one place.
type interruptedMachine struct {
	*machine
	begin     *emu.CPU
	times     int  // how often
	canonical bool // whether RSP was an address then
}

// An outcome is what a run leaves.
type outcome struct {
	regs     [16]uint64
	flags    uint64
	fp       emu.XState
	executed uint64
}

func (m *interruptedMachine) start() {
	m.begin = emu.NewCPU()
	m.begin.Copy(m.cpu)
	m.begin.Regs[emu.RSP], m.begin.Regs[emu.RSI] = 1<<63, uint64(dataAt)
	m.begin.RIP = codeAt
}

// instructions are the arena offsets of instructions of the host that run with the guest's RSP, or may.
func (m *interruptedMachine) instructions(t *testing.T) (list []int) {
	parts := [][2]int{{m.stubs.start, m.stubs.fault}, {m.stubs.exit, m.stubs.exit + 1}, {m.stubs.miss, m.stubs.end}, {farOff, m.far}}
	for _, block := range m.all {
		parts = append(parts, [2]int{int(block.entry), int(block.end)})
	}
	for _, part := range parts {
		for pos := part[0]; pos < part[1]; {
			list = append(list, pos)
			var inst x86.Inst
			require.NoError(t, x86.Decode(m.arena.mem[pos:pos+x86.MaxLen], &inst))
			pos += int(inst.Len)
		}
	}
	return list
}

// goThrough runs the guest from the beginning to its system call, and has the code at arena offset pos fail three times,
// unless that is 0.
func (m *interruptedMachine) goThrough(t *testing.T, pos int) outcome {
	const times, invalid = 3, 0x06
	m.times, m.canonical = 0, false
	was := m.arena.mem[pos]
	repair := func() {
		if pos != 0 {
			m.arena.mem[pos] = was
		}
	}
	defer repair()
	if pos != 0 {
		m.arena.mem[pos] = invalid
	}
	c := m.cpu
	c.Copy(m.begin)
	executed := m.Executed()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	running.Lock()
	defer running.Unlock()
	prepareThread()
	handlerState = m.arena.base
	defer func() { handlerState = 0 }()
	require.NoError(t, m.ready())
	m.Engine.cpu = c
	m.beginCalls(c)
	m.set(stBudget, emu.NoBudget)
	m.loadCPU(c)
	for rip := c.RIP; ; {
		at, stop := m.entryAt(c, rip)
		require.Nil(t, stop)
		m.set(stSigRIP, 0)
		m.enter(at)
		if pos != 0 && m.get(stSigRIP) == m.hostAddr(pos) {
			if m.canonical = guest.Canonical(emu.Addr(m.get(stRegs + 8*emu.RSP))); m.canonical {
				return outcome{}
			}
			if m.times++; m.times == times {
				repair()
			}
		}
		if rip, stop = m.leave(c); stop != nil {
			m.storeCPU(c, rip)
			require.Equal(t, emu.StopSyscall, stop.Reason, "%+v", stop)
			return outcome{c.Regs, c.Flags, *c.FP, m.Executed() - executed}
		}
	}
}
