//go:build linux && amd64

package jit

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/cachesim"
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/callgraph"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/emu/x86"
)

// TestLinkage jumps through a word as entries of linkage tables do: to the entry's other part until it is bound, then
// where it is bound to, and elsewhere once it is bound anew. Where jumps are simulated, the predictor expects the last
// target.
func TestLinkage(t *testing.T) {
	for name, prot := range map[string]mem.Prot{"writable": mem.Read | mem.Write, "constant": mem.Read} {
		t.Run(name, func(t *testing.T) {
			testLinkage(t, newMachine, prot)
		})
		t.Run(name+", simulating", func(t *testing.T) {
			m := testLinkage(t, newSimulator, prot)
			const jumps, changes = 10, 7
			n := m.events(codeAt + 0x20)
			require.EqualValues(t, jumps, n[emu.Bi])
			require.EqualValues(t, changes, n[emu.Bim])
			require.EqualValues(t, jumps, n[emu.Dr])
			require.EqualValues(t, 1, n[emu.D1mr])
		})
	}
}

func testLinkage(t *testing.T, newMachine func(*testing.T, string) *machine, prot mem.Prot) *machine {
	m := newMachine(t, `
		e81b000000     # call 20
		0f05           # syscall
		90 90 90 90 90 90 90 90 90
		48 31 c0       # 10: xor rax, rax
		c3             # ret
		90 90 90 90 90 90 90 90 90 90 90 90
		ff25 da0a1000  # 20: jmp [500b00]
		b0 01          # 26: mov al, 1
		c3             # ret
	`)
	const bound = codeAt + 0x1000
	m.poke(bound, "48 31 c0 b0 02 c3") // xor rax, rax; mov al, 2; ret
	m.poke(bound+0x100, "48 31 c0 b0 03 c3")
	m.poke(bound+0x200, "0f 92 c0 c3") // setc al: flags are as the jump found them
	require.NoError(t, m.mem.Protect(dataAt, dataAt+0x1000, prot))
	var insns uint64
	for _, tt := range []struct {
		to   emu.Addr
		want uint64
		more uint64 // instructions
	}{
		{codeAt + 0x26, 1, 5}, {bound, 2, 6}, {bound, 2, 6}, {bound, 2, 6}, {bound + 0x100, 3, 6}, {codeAt + 0x10, 0, 5}, {bound, 2, 6}, {bound + 0x200, 1, 5}, {bound + 0x200, 1, 5}, {bound, 2, 6},
	} {
		m.bind(tt.to)
		m.cpu.RIP, m.cpu.Regs[emu.RAX] = codeAt, 0
		m.cpu.Flags |= uint64(x86.CF)
		m.run(emu.StopSyscall)
		require.Equal(t, tt.want, m.cpu.Regs[emu.RAX])
		insns += tt.more
		require.Equal(t, insns, m.Executed())
	}
	return m
}

// linkedCall calls an entry of a linkage table that leads to 1000, which calls are recorded of as sixteen says.
const linkedCall = `
	e81b000000     # call 20
	0f05           # syscall
	90 90 90 90 90 90 90 90 90 90 90 90 90 90 90 90 90 90 90 90 90 90 90 90 90
	f30f1efa       # 20: endbr64
	ff25 d60a1000  # jmp [500b00]
`

// newLinked is a machine with it, where the entry passes.
func newLinked(t *testing.T, cfg emu.Config) *machine {
	cfg.Function = func(a emu.Addr) emu.Function {
		f := sixteen(a)
		f.Passes = f.ID == codeAt+0x20
		return f
	}
	m := newMachineWith(t, cfg, linkedCall)
	m.poke(codeAt+0x1000, "90 c3")
	m.poke(codeAt+0x1100, "c3")
	m.bind(codeAt + 0x1000)
	return m
}

// whatIsCounted are configurations with and without simulation.
var whatIsCounted = map[string]emu.Config{"Ir": {}, "simulated": {Caches: &cachesim.Default, Branches: true, Events: ^emu.EventSet(0)}}

// bind makes the entry lead elsewhere.
func (m *machine) bind(to emu.Addr) {
	require.Equal(m.t, 8, m.mem.Poke(dataAt+0xb00, binary.LittleEndian.AppendUint64(nil, uint64(to))))
}

// TestLinkedCall has the entry of a linkage table in the block of the CALL, and what it leads to elsewhere later. Where
// the guest cannot write to the word, the block depends on its page.
func TestLinkedCall(t *testing.T) {
	for name, prot := range map[string]mem.Prot{"writable": mem.Read | mem.Write, "constant": mem.Read} {
		for mode, cfg := range whatIsCounted {
			t.Run(name+", "+mode, func(t *testing.T) {
				m := newLinked(t, cfg)
				require.NoError(t, m.mem.Protect(dataAt, dataAt+0x1000, prot))
				for _, tt := range []struct {
					to    emu.Addr
					insns uint64
					arcs  []string
				}{
					{0x1000, 6, []string{"0-20 1 2", "0-1000 1 2"}}, {0x1000, 12, []string{"0-20 1 2", "0-1000 1 2"}},
					{0x1100, 17, []string{"0-20 1 2", "0-1100 1 1"}}, {0x1000, 23, []string{"0-20 1 2", "0-1000 1 2"}},
				} {
					m.bind(codeAt + tt.to)
					m.cpu.RIP = codeAt
					m.run(emu.StopSyscall)
					require.EqualValues(t, 2, m.tbs.at(codeAt).linkage)
					require.Equal(t, prot&mem.Write == 0, slices.Contains(m.tbs.at(codeAt).pages(), dataAt))
					require.Equal(t, tt.insns, m.Executed())
					require.Equal(t, tt.insns, m.Calls().Totals[m.Calls().Column(emu.Ir)])
					require.ElementsMatch(t, tt.arcs, m.arcs())
				}
				for a, n := range map[emu.Addr]uint64{0: 4, 5: 4, 0x20: 4, 0x24: 4, 0x1000: 3, 0x1001: 3, 0x1100: 1} {
					require.Equal(t, n, m.events(codeAt + a)[emu.Ir], "%x", a)
				}
			})
		}
	}
}

// TestLinkedCallEvents has what the entry of a linkage table counts and misses be the entry's, on hosts with AVX-512 and
// without, where it leads elsewhere later, too. Flags are as the CALL found them.
func TestLinkedCallEvents(t *testing.T) {
	for _, prot := range []mem.Prot{mem.Read | mem.Write, mem.Read} {
		m := newLinked(t, whatIsCounted["simulated"])
		m.poke(codeAt+0x20, "90 ff25 d90a1000")       // nop; jmp [500b00]
		m.poke(codeAt+0x1100, "0f 92 c0 48 31 c9 c3") // setc al; xor rcx, rcx; ret
		require.NoError(t, m.mem.Protect(dataAt, dataAt+0x1000, prot))
		for _, to := range []emu.Addr{0x1000, 0x1000, 0x1100, 0x1100, 0x1000} {
			m.bind(codeAt + to)
			m.cpu.RIP, m.cpu.Regs[emu.RAX] = codeAt, 0
			m.cpu.Flags |= uint64(x86.CF)
			m.run(emu.StopSyscall)
			require.Equal(t, to == 0x1100, m.cpu.Regs[emu.RAX] == 1)
		}
		got := map[emu.Event]uint64{}
		k := m.Calls()
		m.gather()
		k.Collect(0, ^emu.Addr(0), func(s callgraph.Sum) {
			for i, n := range s.Costs {
				if s.Target == codeAt+0x20 && n > 0 {
					got[k.Events[i]] = n
				}
			}
		})
		require.Equal(t, map[emu.Event]uint64{emu.Ir: 10, emu.Dr: 5, emu.D1mr: 1, emu.DLmr: 1, emu.Bi: 5, emu.Bim: 3, emu.Load8: 5}, got)
	}
}

// TestLinkedTailCall has a function that is called jump to another one through a word, which leads elsewhere later. Where
// the guest cannot write to the word, the block depends on its page.
func TestLinkedTailCall(t *testing.T) {
	for name, prot := range map[string]mem.Prot{"writable": mem.Read | mem.Write, "constant": mem.Read} {
		t.Run(name, func(t *testing.T) {
			m := newMachineWith(t, emu.Config{Function: sixteen}, `
				e8 1b000000     # call 20
				0f05            # syscall
			`)
			m.poke(codeAt+0x20, "ff25 da0a1000") // jmp [500b00]
			m.poke(codeAt+0x1000, "90 c3")
			m.poke(codeAt+0x1100, "c3")
			require.NoError(t, m.mem.Protect(dataAt, dataAt+0x1000, prot))
			for _, to := range []emu.Addr{0x1000, 0x1000, 0x1100, 0x1000} {
				m.bind(codeAt + to)
				m.cpu.RIP = codeAt
				m.run(emu.StopSyscall)
				require.Equal(t, prot&mem.Write == 0, slices.Contains(m.tbs.at(codeAt+0x20).pages(), dataAt))
			}
			require.EqualValues(t, 19, m.Executed())
			require.ElementsMatch(t, []string{"0-20 4 11", "20-1000 3 6", "20-1100 1 1"}, m.arcs())
		})
	}
}

// TestConstantWord has the page of a word that the guest cannot write to change: to what the guest can write to, to one
// that is not there, to another one, and back to what it was. Then the code made first is good again.
func TestConstantWord(t *testing.T) {
	m := newMachine(t, linkedCall)
	m.poke(codeAt+0x1000, "b0 01 c3") // mov al, 1; ret
	m.poke(codeAt+0x1100, "b0 02 c3")
	protect := func(prot mem.Prot) { require.NoError(t, m.mem.Protect(dataAt, dataAt+0x1000, prot)) }
	call := func(want uint64) {
		m.cpu.RIP, m.cpu.Regs[emu.RAX] = codeAt, 0
		m.run(emu.StopSyscall)
		require.Equal(t, want, m.cpu.Regs[emu.RAX])
	}
	m.bind(codeAt + 0x1000)
	protect(mem.Read)
	call(1)
	made := m.Translated()
	protect(mem.Read | mem.Write)
	call(1)
	m.bind(codeAt + 0x1100)
	call(2)
	require.NoError(t, m.mem.Unmap(dataAt, dataAt+0x1000))
	m.cpu.RIP = codeAt
	stop := m.run(emu.StopFault)
	require.Equal(t, &emu.Fault{Vector: emu.VecPF, Addr: dataAt + 0xb00}, stop.Fault)
	m.cpu.Regs[emu.RSP] += 8
	require.NoError(t, m.mem.Map(mem.VMA{Lo: dataAt, Hi: dataAt + 0x1000, Prot: mem.Read | mem.Write}, nil))
	m.bind(codeAt + 0x1100)
	protect(mem.Read)
	call(2)
	require.Greater(t, m.Translated(), made)
	made = m.Translated()
	m.bind(codeAt + 0x1000)
	call(1)
	require.Equal(t, made, m.Translated())
	protect(0)
	m.cpu.RIP = codeAt
	stop = m.run(emu.StopFault)
	require.Equal(t, &emu.Fault{Vector: emu.VecPF, Addr: dataAt + 0xb00}, stop.Fault)
}

// TestLinkedCallBudget takes the same off a budget whatever the entry leads to: one for the CALL, and two for the
// entry.
func TestLinkedCallBudget(t *testing.T) {
	for name, m := range map[string]*machine{
		"calls": newLinked(t, emu.Config{}), "Ir": newMachine(t, linkedCall), "simulated calls": newLinked(t, whatIsCounted["simulated"]), "simulated": newSimulator(t, linkedCall),
	} {
		t.Run(name, func(t *testing.T) {
			m.poke(codeAt+0x1000, "90 c3")
			m.poke(codeAt+0x1100, "c3")
			for _, to := range []emu.Addr{0x1000, 0x1000, 0x1100, 0x1000} {
				m.bind(codeAt + to)
				m.cpu.RIP = codeAt
				require.Equal(t, emu.Stop{Reason: emu.StopSyscall, Left: 100 - 1 - 2}, m.Run(m.cpu, 100))
				require.EqualValues(t, 2, m.tbs.at(codeAt).linkage)
			}
		})
	}
}

// TestLinkedCallFault has the word go away: the jump faults, when the return address has been pushed.
func TestLinkedCallFault(t *testing.T) {
	for mode, cfg := range whatIsCounted {
		t.Run(mode, func(t *testing.T) {
			m := newLinked(t, cfg)
			m.run(emu.StopSyscall)
			rsp := m.cpu.Regs[emu.RSP]
			require.NoError(t, m.mem.Unmap(dataAt, dataAt+0x1000))
			m.cpu.RIP = codeAt
			stop := m.run(emu.StopFault)
			require.Equal(t, &emu.Fault{Vector: emu.VecPF, Addr: dataAt + 0xb00}, stop.Fault)
			require.Equal(t, codeAt+0x24, m.cpu.RIP)
			require.Equal(t, rsp-8, m.cpu.Regs[emu.RSP])
			require.EqualValues(t, 6+3, m.Executed()) // that which faulted, too
			require.NoError(t, m.mem.Map(mem.VMA{Lo: dataAt, Hi: dataAt + 0x1000, Prot: mem.Read | mem.Write}, nil))
			m.bind(codeAt + 0x1100)
			m.run(emu.StopSyscall)
			require.Equal(t, rsp, m.cpu.Regs[emu.RSP])
			require.EqualValues(t, 6+3+3, m.Executed())
			require.ElementsMatch(t, []string{"0-20 2 5", "0-1000 1 2", "0-1100 1 1"}, m.arcs())
		})
	}
}

// TestLinkedCallThrough calls through a word without a table.
func TestLinkedCallThrough(t *testing.T) {
	for mode, cfg := range whatIsCounted {
		t.Run(mode, func(t *testing.T) {
			cfg.Function = sixteen
			m := newMachineWith(t, cfg, `
				ff15 fa0a1000  # call [500b00]
				0f05           # syscall
			`)
			m.poke(codeAt+0x1000, "90 c3")
			m.poke(codeAt+0x1100, "0f 92 c0 c3") // setc al: flags are as the call found them
			for _, to := range []emu.Addr{0x1000, 0x1000, 0x1100, 0x1000} {
				m.bind(codeAt + to)
				m.cpu.RIP, m.cpu.Regs[emu.RAX] = codeAt, 0
				m.cpu.Flags |= uint64(x86.CF)
				m.run(emu.StopSyscall)
				require.Equal(t, to == 0x1100, m.cpu.Regs[emu.RAX] == 1)
			}
			require.EqualValues(t, 16, m.Executed())
			require.ElementsMatch(t, []string{"0-1000 3 6", "0-1100 1 2"}, m.arcs())
			if n := m.events(codeAt); cfg.Branches {
				require.EqualValues(t, 4, n[emu.Bi])
				require.EqualValues(t, 3, n[emu.Bim])
				require.EqualValues(t, 4, n[emu.Dr])
				require.EqualValues(t, 4, n[emu.Dw])
			}
		})
	}
}

// TestLinkedCallThroughFault has such a call not push its return address: it has read the word, and no branch is
// simulated.
func TestLinkedCallThroughFault(t *testing.T) {
	m := newSimulator(t, "ff15 fa0a1000") // call [500b00]
	m.bind(codeAt + 0x1000)
	m.cpu.Regs[emu.RSP] = 0x2000
	m.run(emu.StopFault)
	n := m.events(codeAt)
	require.Equal(t, []uint64{1, 1, 0, 0, 0}, []uint64{n[emu.Ir], n[emu.Dr], n[emu.Dw], n[emu.Bi], n[emu.Bim]})
}

// TestHighCalls calls from where return addresses have more than 31 bits, by a register and directly. Where the push
// faults, all registers are as they were.
func TestHighCalls(t *testing.T) {
	const high = emu.Addr(1) << 33
	for mode, cfg := range whatIsCounted {
		for _, function := range []func(emu.Addr) emu.Function{nil, sixteen} {
			t.Run(fmt.Sprint(mode, function != nil), func(t *testing.T) {
				cfg.Function = function
				m := newMachineWith(t, cfg, "c3")
				require.NoError(t, m.mem.Map(mem.VMA{Lo: high, Hi: high + 0x1000, Prot: mem.Read | mem.Exec}, nil))
				m.poke(high, `
					ff d3        # call rbx
					e8 02000000  # 2: call 9
					0f05         # syscall
					c3           # 9: ret`)
				for r := range m.cpu.Regs {
					m.cpu.Regs[r] = uint64(0x1000 + r)
				}
				m.cpu.Regs[emu.RBX], m.cpu.Regs[emu.RSP], m.cpu.RIP = uint64(codeAt), uint64(stackAt), high
				want := m.cpu.Regs
				m.run(emu.StopSyscall)
				require.EqualValues(t, 5, m.Executed())
				want[emu.RCX], want[emu.R11] = m.cpu.Regs[emu.RCX], m.cpu.Regs[emu.R11] // SYSCALL's
				require.Equal(t, want, m.cpu.Regs)
				for _, at := range []emu.Addr{high, high + 2} {
					m.cpu.RIP, m.cpu.Regs[emu.RSP], m.cpu.Regs[emu.R11] = at, 0x2000, 0x100b
					want = m.cpu.Regs
					m.run(emu.StopFault)
					require.Equal(t, at, m.cpu.RIP)
					require.Equal(t, want, m.cpu.Regs)
				}
			})
		}
	}
}

// TestUnboundForever has a jump through a word that stays unbound: it is left to Go a few times only.
func TestUnboundForever(t *testing.T) {
	for name, entry := range map[string]string{
		"push": `
			68 07000000     # 10: push 7
			58              # pop rax
			ffc9            # dec ecx
			75 eb           # jnz 5
		`,
		"endbr64, push": `
			f30f1efa        # 10: endbr64
			68 07000000     # push 7
			58              # pop rax
			ffc9            # dec ecx
			75 e7           # jnz 5
		`,
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, `
				b9 e8030000     # mov ecx, 1000
				ff25 f50a1000   # 5: jmp [500b00]
				90 90 90 90 90
			`+entry+`
				0f05            # syscall
			`)
			m.bind(codeAt + 0x10)
			m.run(emu.StopSyscall)
			require.Equal(t, map[emu.Addr]uint8{codeAt + 5: maxUnbound}, m.unbound)
		})
	}
}

// TestLinkInPage has a jump through a word that leads to the page where it is, but to no entry of a linkage table: it is
// a link.
func TestLinkInPage(t *testing.T) {
	m := newMachine(t, `
		b9 e8030000     # mov ecx, 1000
		ff25 f50a1000   # 5: jmp [500b00]
		90 90 90 90 90
		ffc9            # 10: dec ecx
		75 f1           # jnz 5
		0f05            # syscall
	`)
	m.bind(codeAt + 0x10)
	m.run(emu.StopSyscall)
	require.EqualValues(t, 3002, m.Executed())
	require.Empty(t, m.unbound)
}

// TestLinkageSegment jumps through a word of a segment, which is not where it would be without.
func TestLinkageSegment(t *testing.T) {
	m := newMachine(t, `
		64 ff25 f90a1000  # jmp fs:[500b00]
		90 90 90 90 90 90 90 90 90
		0f05              # 10: syscall
	`)
	for at, to := range map[emu.Addr]emu.Addr{0xb00: codeAt + 0x1000, 0xc00: codeAt + 0x10} {
		require.Equal(t, 8, m.mem.Poke(dataAt+at, binary.LittleEndian.AppendUint64(nil, uint64(to))))
	}
	m.cpu.FSBase = 0x100
	m.run(emu.StopSyscall)
	require.EqualValues(t, 2, m.Executed())
}
