//go:build linux && amd64

package jit

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/cachesim"
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/callgraph"
	"github.com/cgemu/cgemu/emu/x86"
)

// onLesserHost gives m an engine for a host without AVX-512, with what generated code keeps in MMX or in memory.
func (m *machine) onLesserHost(mmx bool) {
	m.t.Helper()
	require.NoError(m.t, m.Close()) // its shadow stack's place is free
	e, err := NewWithoutAVX512(m.mem, m.Config)
	require.NoError(m.t, err)
	m.t.Cleanup(func() { e.Close() })
	m.mem.OnInvalidate(e.Invalidate)
	m.Engine = e
	if mmx {
		require.True(m.t, e.mmx)
	} else if e.mmx {
		e.withoutMMX()
	}
}

// mmxModes are configurations whose values in registers differ.
var mmxModes = map[string]emu.Config{
	"instructions": {},
	"budget":       {Limited: true},
	"calls":        {Function: sixteen},
	"simulation":   {Function: sixteen, Caches: &cachesim.Default, Branches: true, Events: ^emu.EventSet(0) >> 50},
	"no calls":     {Caches: &cachesim.Default, Branches: true, Events: ^emu.EventSet(0) >> 50},
	"branches":     {Function: sixteen, Branches: true, Events: ^emu.EventSet(0) >> 50},
}

// x87Loop uses x87 and MMX between calls, ten times: after each it has added 1 to the number on x87's stack.
const x87Loop = `
	d9 ee              # fldz
	b9 0a 00 00 00     # mov ecx, 10
	e8 24 00 00 00     # 7: call 30
	d9 e8              # fld1
	48 ff c3           # inc rbx
	de c1              # faddp
	75 05              # jne 1a
	d9 ee              # fldz
	90 90 90           # nop
	ff c9              # 1a: dec ecx
	75 e9              # jne 7
	dd 17              # fst qword [rdi]
	0f 05              # syscall`

// TestX87Often has a guest use x87 so often that it is given to it: counts and results are the same then, and whether
// that was so is remembered with the code.
func TestX87Often(t *testing.T) {
	for name, cfg := range mmxModes {
		t.Run(name, func(t *testing.T) {
			type result struct {
				executed uint64
				arcs     []string
			}
			run := func(t *testing.T, prepare func(m *machine)) (r result, inMMX bool) {
				m := newMachineWith(t, cfg, x87Loop)
				m.poke(codeAt+0x30, "90 d9 c0 dd d8 c3") // nop; fld st0; fstp st0; ret
				m.cpu.Regs[emu.RDI] = uint64(dataAt)
				prepare(m)
				m.run(emu.StopSyscall)
				word, ok := m.mem.ReadUint64(dataAt)
				require.True(t, ok)
				require.Equal(t, uint64(0x4024000000000000), word, "10.0")
				r.executed = m.Executed()
				if m.Calls() != nil {
					r.arcs = m.arcs()
				}
				require.NoError(t, m.Close())
				return r, m.mmx
			}
			want, _ := run(t, func(m *machine) { m.onLesserHost(false) })
			got, inMMX := run(t, func(m *machine) { m.onLesserHost(true) })
			require.True(t, inMMX)
			require.Equal(t, want, got)
			for left := uint64(1); left < 25; left++ {
				got, inMMX := run(t, func(m *machine) {
					m.onLesserHost(true)
					m.set(stX87Left, left)
				})
				require.Equal(t, want, got, "%d", left)
				require.False(t, inMMX, "%d", left)
				got, inMMX = run(t, func(m *machine) {
					m.onLesserHost(true)
					m.set(stX87Left, left)
					m.x87Since -= 1 << 62
				})
				require.Equal(t, want, got, "%d", left)
				require.True(t, inMMX)
			}
		})
	}
}

// unforeseen is a loop whose branches depend on random numbers, with memory, calls, and x87 now and then.
const unforeseen = `
	b9 2c 01 00 00        # mov ecx, 300
	69 c0 6d 4e c6 41     # 5: imul eax, eax, 1103515245
	05 39 30 00 00        # add eax, 12345
	a9 00 00 01 00        # test eax, 0x10000
	74 02                 # jz 19
	89 07                 # mov [rdi], eax
	a9 00 00 04 00        # 19: test eax, 0x40000
	75 03                 # jnz 23
	48 8b 17              # mov rdx, [rdi]
	e8 18 00 00 00        # 23: call 40
	48 8d 35 11 00 00 00  # lea rsi, [40]
	ff d6                 # call rsi
	ff c9                 # dec ecx
	75 d0                 # jnz 5
	0f 05                 # syscall`

// TestInRegisters has all counts, and all costs of calls, be the same wherever generated code keeps its values.
func TestInRegisters(t *testing.T) {
	for name, cfg := range mmxModes {
		t.Run(name, func(t *testing.T) {
			counts := func(prepare func(m *machine)) (map[emu.Addr]map[emu.Event]uint64, []string) {
				m := newMachineWith(t, cfg, unforeseen)
				m.poke(codeAt+0x40, "89 47 08 a9 00 00 10 00 74 04 d9 e8 dd d8 c3") // mov [rdi+8], eax; test eax, 0x100000; jz; fld1; fstp st0; ret
				m.cpu.Regs[emu.RDI] = uint64(dataAt)
				prepare(m)
				m.run(emu.StopSyscall)
				var arcs []string
				if m.Calls() != nil {
					m.gather()
					m.Calls().Collect(0, ^emu.Addr(0), func(s callgraph.Sum) {
						arcs = append(arcs, fmt.Sprintf("%x-%x %d %d", s.Site, s.Target, s.Calls, s.Costs))
					})
					slices.Sort(arcs)
					require.Greater(t, len(arcs), 3)
				}
				all := events(m)
				if cfg.Branches {
					require.Greater(t, all[codeAt+0x15][emu.Bcm], uint64(50), "half of 300 random branches are mispredicted")
				}
				require.NoError(t, m.Close())
				return all, arcs
			}
			want, wantArcs := counts(func(m *machine) { m.onLesserHost(false) })
			for where, prepare := range map[string]func(*machine){"MMX": func(m *machine) { m.onLesserHost(true) }, "here": func(*machine) {}} {
				got, arcs := counts(prepare)
				require.Equal(t, want, got, where)
				require.Equal(t, wantArcs, arcs, where)
			}
		})
	}
}

// TestX87Pending has an exception of x87 wait while generated code goes on in MMX: x87's next instruction raises it, no
// other.
func TestX87Pending(t *testing.T) {
	for _, mmx := range [2]bool{false, true} {
		t.Run(fmt.Sprint(mmx), func(t *testing.T) {
			m := newMachineWith(t, emu.Config{Function: sixteen}, `
				d9 2f              # fldcw [rdi]
				d9 e8              # fld1
				d9 ee              # fldz
				de f9              # fdivp: pending
				e8 03 00 00 00     # call 10
				9b                 # fwait
				0f 05              # syscall
				90 c3              # 10: nop; ret`)
			m.onLesserHost(mmx)
			m.mem.Poke(dataAt, []byte{0x7b, 0x03}) // division by zero is not masked
			m.cpu.Regs[emu.RDI] = uint64(dataAt)
			stop := m.run(emu.StopFault)
			require.EqualValues(t, emu.VecMF, stop.Fault.Vector)
			require.EqualValues(t, codeAt+13, m.cpu.RIP)
			require.NotZero(t, binary.LittleEndian.Uint16(m.cpu.FP[emu.XOffFCW+2:])&0x80, "ES")
		})
	}
}

// TestX87FaultKeeps has an instruction of x87 fault in memory, behind others: x87, counts and totals are what they
// were.
func TestX87FaultKeeps(t *testing.T) {
	for _, mmx := range [2]bool{false, true} {
		t.Run(fmt.Sprint(mmx), func(t *testing.T) {
			m := newMachineWith(t, emu.Config{Function: sixteen}, `
				e8 0b 00 00 00     # call 10
				90 90 90 90 90 90 90 90 90 90 90
				d9 e8              # 10: fld1
				90                 # nop
				d8 c0              # fadd st0, st0
				d8 06              # fadd dword [rsi]
				90 c3              # nop; ret`)
			m.onLesserHost(mmx)
			m.run(emu.StopFault)
			require.EqualValues(t, codeAt+0x15, m.cpu.RIP)
			require.EqualValues(t, 0x4000, binary.LittleEndian.Uint16(m.cpu.FP[emu.XOffST+8:]), "2.0")
			require.EqualValues(t, 5, m.Executed())
			require.EqualValues(t, 5, m.Calls().Totals[0])
		})
	}
}

// TestImageOfX87 keeps the code of a guest that was given x87: who begins with that has no need to find out again.
func TestImageOfX87(t *testing.T) {
	var image bytes.Buffer
	var want []string
	for turn := range 2 {
		m := newMachineWith(t, emu.Config{Function: sixteen}, x87Loop)
		m.poke(codeAt+0x30, "90 d9 c0 dd d8 c3")
		m.cpu.Regs[emu.RDI] = uint64(dataAt)
		m.onLesserHost(true)
		m.noting = true
		if turn == 0 {
			m.set(stX87Left, 3)
		} else {
			require.NoError(t, m.loadImage(image.Bytes(), m.configKey(), func([]byte) {}))
			require.False(t, m.mmx)
		}
		begin := m.pos
		m.run(emu.StopSyscall)
		require.False(t, m.mmx)
		if turn == 0 {
			want = m.arcs()
			m.cpu.RIP = codeAt // what was executed before that is translated again, too
			m.run(emu.StopSyscall)
			require.NoError(t, m.writeImage(&image))
		} else {
			require.Equal(t, want, m.arcs())
			require.Equal(t, begin, m.pos)
		}
		require.NoError(t, m.Close())
	}
}

// TestX87Interrupted has the code that changes between MMX and x87 interrupted in front of each of its instructions,
// again and again, while RSP is no canonical address, as a kernel under PVM does.
func TestX87Interrupted(t *testing.T) {
	code := `
		48 89 e3           # mov rbx, rsp
		48 0f ba fc 3e     # btc rsp, 62
		d9 e8              # fld1
		90                 # nop
		d8 c0              # fadd st0, st0
		48 89 dc           # mov rsp, rbx
		e8 03 00 00 00     # 10: call 18
		dd 1f              # fstp qword [rdi]
		90                 # nop
		0f 05              # 18: syscall`
	points := func() (at []int) {
		m := newMachineWith(t, emu.Config{Function: sixteen}, code)
		m.onLesserHost(true)
		defer m.Close()
		for pos := m.stubs.toX87; pos < m.stubs.endX87; {
			at = append(at, pos)
			var inst x86.Inst
			require.NoError(t, x86.Decode(m.arena.mem[pos:pos+x86.MaxLen], &inst))
			pos += int(inst.Len)
		}
		return at
	}()
	interrupted := 0
	for _, pos := range points {
		m := newMachineWith(t, emu.Config{Function: sixteen}, code)
		m.onLesserHost(true)
		m.cpu.Regs[emu.RDI] = uint64(dataAt)
		was := slices.Clone(m.arena.mem[pos : pos+len(ud2)])
		copy(m.arena.mem[pos:], ud2)
		repaired := time.AfterFunc(5*time.Millisecond, func() { copy(m.arena.mem[pos:], was) })
		m.run(emu.StopSyscall)
		if !repaired.Stop() { // else the guest has not come there
			interrupted++
		}
		require.EqualValues(t, 0x4000, binary.LittleEndian.Uint16(m.cpu.FP[emu.XOffST+8:]), "2.0, %x", pos)
		require.EqualValues(t, 8, m.Executed())
		require.EqualValues(t, 8, m.Calls().Totals[0])
		require.NoError(t, m.Close())
	}
	require.Greater(t, interrupted, 20)
}

// TestYMM15Kept has calls add totals to sums, which takes XMM15 where several events are counted: the guest's YMM15 is
// what it was.
func TestYMM15Kept(t *testing.T) {
	for name, cfg := range mmxModes {
		t.Run(name, func(t *testing.T) {
			m := newMachineWith(t, cfg, `
				c5 7e 6f 3f        # vmovdqu ymm15, [rdi]
				e8 17 00 00 00     # call 20
				c5 7e 7f 7f 40     # vmovdqu [rdi+40h], ymm15
				0f 05              # syscall
			`)
			m.onLesserHost(true)
			m.poke(codeAt+0x20, "c5 7e 7f 7f 20 c3") // vmovdqu [rdi+20h], ymm15; ret
			want := make([]byte, 32)
			for i := range want {
				want[i] = byte(0xf0 - i)
			}
			require.Equal(t, len(want), m.mem.Poke(dataAt, want))
			m.cpu.Regs[emu.RDI] = uint64(dataAt)
			m.run(emu.StopSyscall)
			for _, at := range []emu.Addr{0x20, 0x40} {
				got := make([]byte, len(want))
				require.Equal(t, len(got), m.mem.Read(dataAt+at, got))
				require.Equal(t, want, got)
			}
			if m.calls != nil {
				require.Equal(t, len(m.calls.Events) > 1, m.calls.rare < len(m.calls.registers))
			}
		})
	}
}
