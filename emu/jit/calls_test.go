//go:build linux && amd64

package jit

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/cachesim"
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/callgraph"
	"github.com/cgemu/cgemu/emu/mem"
)

// sixteen has functions of sixteen bytes.
func sixteen(a emu.Addr) emu.Function { return emu.Function{ID: a &^ 15, Lo: a &^ 15, Hi: a&^15 + 16} }

// arcs are the calls that an engine has recorded.
func (m *machine) arcs() (list []string) {
	m.gather()
	m.Calls().Collect(0, ^emu.Addr(0), func(s callgraph.Sum) {
		list = append(list, fmt.Sprintf("%x-%x %d %d", uint64(s.Site-codeAt), uint64(s.Target-codeAt), s.Calls, s.Costs[0]))
	})
	return list
}

const someCalls = `
	e80b000000     # call 10
	e806000000     # call 10
	0f05           # syscall
`

// TestCalls records calls on each kind of arena and of host, and when all code is made anew in between.
func TestCalls(t *testing.T) {
	const callee = "90 eb0d" // 10: nop; jmp 20
	run := func(t *testing.T, m *machine) {
		m.poke(codeAt+0x10, callee)
		m.poke(codeAt+0x20, "90 c3")
		want := []string{"0-10 1 4", "11-20 2 4", "5-10 1 4"}
		for i := range 3 {
			m.cpu.RIP = codeAt
			if i == 1 {
				m.flush()
			}
			m.run(emu.StopSyscall)
			require.ElementsMatch(t, want, m.arcs())
			require.Equal(t, uint64(11*(i+1)), m.Executed())
			require.Equal(t, uint64(11*(i+1)), m.Calls().Totals[0])
		}
	}
	cfg := emu.Config{Function: sixteen}
	t.Run("as ever", func(t *testing.T) { run(t, newMachineWith(t, cfg, someCalls)) })
	t.Run("two views", func(t *testing.T) {
		mapArena = newDualArena
		defer func() { mapArena = newArena }()
		run(t, newMachineWith(t, cfg, someCalls))
	})
	t.Run("totals in memory", func(t *testing.T) {
		m := newMachineWith(t, cfg, someCalls)
		m.onLesserHost(false)
		require.False(t, m.calls.inRegisters)
		run(t, m)
	})
	t.Run("totals in MMX", func(t *testing.T) {
		m := newMachineWith(t, cfg, someCalls)
		m.onLesserHost(true)
		require.NotNil(t, m.calls.registers)
		run(t, m)
	})
}

// TestInvalidatedCall has a function whose page changes while it is called, or before, jump to another one, and back to
// its middle: it is active still.
func TestInvalidatedCall(t *testing.T) {
	for how, jumps := range map[string][2]string{
		"direct":   {"eb0c 90 c3", "ebf3"},    // jmp 20; nop; 15: ret, and jmp 15
		"indirect": {"ffe0 90 c3", "ffe2"},    // jmp rax, and jmp rdx
		"to it":    {"ffe0 90 c3", "90 ebf2"}, // jmp rax, and nop; jmp 15
		"back":     {"eb0c 90 c3", "90 ffe2"}, // jmp 20, and nop; jmp rdx
	} {
		t.Run(how, func(t *testing.T) {
			eachWayOfTotals(t, func(t *testing.T, cfg emu.Config) {
				m := newMachineWith(t, cfg, "e80b000000 0f05") // call 10; syscall
				m.poke(codeAt+0x10, "0f05"+jumps[0])           // syscall
				m.poke(codeAt+0x20, jumps[1])
				m.cpu.Regs[emu.RAX], m.cpu.Regs[emu.RDX] = uint64(codeAt+0x20), uint64(codeAt+0x15)
				for range 3 {
					m.cpu.RIP = codeAt
					m.run(emu.StopSyscall)
					m.Invalidate(codeAt.PageDown(), codeAt.PageDown()+emu.PageSize)
					calls := m.callsOfRun()
					require.Len(t, calls, 2)
					require.Contains(t, calls[0]+calls[1], "12-20 1 ")
				}
			})
			t.Run("while it is not active", func(t *testing.T) {
				for _, call := range []string{"e80b100000 0f05", "ffd3 90 90 90 0f05"} { // call 1010, or rbx; syscall
					eachWayOfTotals(t, func(t *testing.T, cfg emu.Config) {
						m := newMachineWith(t, cfg, call)
						m.poke(codeAt+0x1010, "90 90"+jumps[0])
						m.poke(codeAt+0x1020, jumps[1])
						m.cpu.Regs[emu.RAX], m.cpu.Regs[emu.RDX], m.cpu.Regs[emu.RBX] = uint64(codeAt+0x1020), uint64(codeAt+0x1015), uint64(codeAt+0x1010)
						for range 4 {
							m.cpu.RIP = codeAt
							calls := m.callsOfRun()
							require.Len(t, calls, 2)
							require.Contains(t, calls[0]+calls[1], "1012-1020 1 ")
							m.Invalidate(codeAt+0x1000, codeAt+0x2000) // not where the call is
						}
					})
				}
			})
		})
	}
}

// TestReturnOfAnother has a function return twice by the return address of one call, whose place is that of the one with
// which the function was called: that call is over then, and who made it has jumped into the function. flags are what the
// code returned to begins with, which looks at the flags or does not.
func TestReturnOfAnother(t *testing.T) {
	for name, flags := range map[string]string{"flags dead": "90 90 90", "flags looked at": "0f92c2"} { // nop, or setb dl
		t.Run(name, func(t *testing.T) {
			function := `
				58            # pop rax
				b902000000    # mov ecx, 2
				e8a5000000    # call f0
				` + flags + ` # 4b
				ffc9          # dec ecx
				7405          # je 57
				4883ec08      # sub rsp, 8
				c3            # ret: to 4b
				50 c3         # 57: push rax; ret`
			n := 1 + strings.Count(flags, " ") // instructions
			want := []string{fmt.Sprint("0-40 1 ", 8+n), "46-f0 1 1", fmt.Sprint("0-4b 1 ", 4+n)}
			test := func(t *testing.T, m *machine) {
				m.poke(codeAt+0x40, function)
				m.poke(codeAt+0xf0, "c3")
				for range 3 {
					m.cpu.RIP = codeAt
					require.ElementsMatch(t, want, m.callsOfRun())
				}
			}
			cfg := emu.Config{Function: func(a emu.Addr) emu.Function { return emu.Function{ID: a &^ 63, Lo: a &^ 63, Hi: a&^63 + 64} }}
			const calls = "e83b000000 0f05" // call 40; syscall
			eachWayOfTotals(t, func(t *testing.T, each emu.Config) {
				each.Function = cfg.Function
				test(t, newMachineWith(t, each, calls))
			})
			t.Run("MMX", func(t *testing.T) {
				m := newMachineWith(t, cfg, calls)
				m.onLesserHost(true)
				test(t, m)
			})
		})
	}
}

// callsByTurns calls two functions from two places, by turns.
const callsByTurns = `
	ffd0           # call rax
	ffd2           # 2: call rdx
	4892           # xchg rax, rdx
	48ffcb         # dec rbx
	75f5           # jne 0
	0f05           # syscall`

// runByTurns runs it, and returns what calls there were, each with its instructions. The first one is of first, and the
// second one of second.
func runByTurns(m *machine, first, second emu.Addr) (calls []string) {
	m.poke(codeAt+0x40, "eb0e c3") // jmp 50; ret
	m.poke(codeAt+0x50, "ebf0")    // jmp 42: back
	m.poke(codeAt+0x60, "c3")
	m.cpu.RIP, m.cpu.Regs[emu.RBX] = codeAt, 10
	m.cpu.Regs[emu.RAX], m.cpu.Regs[emu.RDX] = uint64(first), uint64(second)
	return m.callsOfRun()
}

// callsOfRun goes on to a system call, and returns what calls there were, each with its instructions.
func (m *machine) callsOfRun() (calls []string) {
	m.run(emu.StopSyscall)
	m.gather()
	ir := slices.Index(m.Calls().Events, emu.Ir)
	m.Calls().Collect(0, ^emu.Addr(0), func(s callgraph.Sum) {
		calls = append(calls, fmt.Sprintf("%x-%x %d %d", uint64(s.Site-codeAt), uint64(s.Target-codeAt), s.Calls, s.Costs[ir]))
	})
	return calls
}

// TestIndirectCalls makes indirect calls wherever totals are.
func TestIndirectCalls(t *testing.T) {
	eachWayOfTotals(t, func(t *testing.T, cfg emu.Config) {
		m := newMachineWith(t, cfg, callsByTurns)
		for range 3 {
			require.ElementsMatch(t, []string{"0-40 5 15", "0-60 5 5", "2-40 5 15", "2-60 5 5", "40-50 10 10"}, runByTurns(m, codeAt+0x40, codeAt+0x60))
		}
	})
}

// eachWayOfTotals runs test with configurations that have totals in other places.
func eachWayOfTotals(t *testing.T, test func(t *testing.T, cfg emu.Config)) {
	model := func(name string) *emu.Model {
		m, err := emu.ModelByName(name)
		require.NoError(t, err)
		return m
	}
	some := emu.Events(emu.Ir, emu.Dr, emu.D1mr, emu.DLmr)
	for name, cfg := range map[string]emu.Config{
		"one total": {Model: model("v3")}, "lanes": {Model: model("v3"), Caches: &cachesim.Default, Events: some},
		"in memory": {Model: model("v4")}, "many": {Model: model("v3"), Caches: &cachesim.Default, Branches: true, Events: ^emu.EventSet(0)},
	} {
		t.Run(name, func(t *testing.T) {
			cfg.Function = sixteen
			test(t, cfg)
		})
	}
}

// TestTailCalls has a function go on by indirect jumps, one after the other: to other functions, back to its own
// middle, and where something else than the return address is on top of the stack.
func TestTailCalls(t *testing.T) {
	const loop = `
		e83b000000     # call 40
		ffc9           # dec ecx
		75f7           # jne 0
		0f05           # syscall`
	eachWayOfTotals(t, func(t *testing.T, cfg emu.Config) {
		for _, tt := range []struct {
			at60, at80 string
			to         emu.Addr
			want       []string
		}{
			{"ffe3", "c3", 0x80, []string{"0-40 10 30", "40-60 10 20", "60-80 10 10"}},
			{"ffe3", "", 0x42, []string{"0-40 10 30", "40-60 10 10"}},
			{"ffe3", "ffe6", 0x80, []string{"0-40 10 40", "40-60 10 20", "60-80 10 10"}},
			{"50 ffe3", "58 c3", 0x80, []string{"0-40 10 50", "40-60 10 40", "61-80 10 20"}},
		} {
			m := newMachineWith(t, cfg, loop)
			m.poke(codeAt+0x40, "ffe0 c3") // jmp rax; ret
			m.poke(codeAt+0x60, tt.at60)   // jmp rbx
			m.poke(codeAt+0x80, tt.at80)   // jmp rsi
			for range 3 {
				m.cpu.RIP, m.cpu.Regs[emu.RCX] = codeAt, 10
				m.cpu.Regs[emu.RAX], m.cpu.Regs[emu.RBX], m.cpu.Regs[emu.RSI] = uint64(codeAt+0x60), uint64(codeAt+tt.to), uint64(codeAt+0x42)
				require.ElementsMatch(t, tt.want, m.callsOfRun())
			}
		}
	})
}

// TestWildTailCalls has a stack's first function jump to another one and back, with RSP by turns where it was and at
// the end of the address space, where what a stack's first frame has for a place may be taken for one, and at odd
// addresses. Each jump finds that function left: there are two stacks.
func TestWildTailCalls(t *testing.T) {
	eachWayOfTotals(t, func(t *testing.T, cfg emu.Config) {
		for rsp := int64(-32); rsp < 0; rsp++ {
			t.Run(fmt.Sprint(rsp), func(t *testing.T) {
				m := newMachineWith(t, cfg, "ffe0") // jmp rax
				m.poke(codeAt+0x40, `
					ffc9           # dec ecx
					7405           # je 49
					4887d4         # xchg rsp, rdx
					ffe3           # jmp rbx
					0f05           # 49: syscall`)
				m.cpu.Regs[emu.RAX], m.cpu.Regs[emu.RBX], m.cpu.Regs[emu.RCX] = uint64(codeAt+0x40), uint64(codeAt), 10
				m.cpu.Regs[emu.RDX] = uint64(rsp)
				require.ElementsMatch(t, []string{"0-40 9 4", "47-0 9 8"}, m.callsOfRun())
			})
		}
	})
}

// TestTotalsInPieces has budgets end in a long REP instruction in the midst of a block: the totals are what was
// executed up to there.
func TestTotalsInPieces(t *testing.T) {
	const bytes, budget = 1 << 20, 300_000
	for _, model := range []string{"v3", "v4"} { // totals in a register where the host has AVX-512, and in memory
		cfg := emu.Config{Function: sixteen}
		var err error
		cfg.Model, err = emu.ModelByName(model)
		require.NoError(t, err)
		m := newMachineWith(t, cfg, `
			90             # nop
			f3 aa          # rep stosb
			90             # nop
			0f 05          # syscall`)
		const at = dataAt + 1<<24
		require.NoError(t, m.mem.Map(mem.VMA{Lo: at, Hi: at + bytes, Prot: mem.Read | mem.Write}, nil))
		m.cpu.Regs[emu.RDI], m.cpu.Regs[emu.RCX] = uint64(at), bytes
		stops := 0
		for m.Run(m.cpu, budget).Reason == emu.StopBudget {
			stops++
			require.Equal(t, m.Executed(), m.Calls().Totals[0])
		}
		require.Greater(t, stops, 1)
		require.EqualValues(t, bytes+1+3, m.Executed())
		require.Equal(t, m.Executed(), m.Calls().Totals[0])
	}
}

// TestCallOfNothing calls address 0: first of all, and where another address was called before.
func TestCallOfNothing(t *testing.T) {
	for _, first := range []bool{true, false} {
		m := newMachineWith(t, emu.Config{Function: sixteen}, `
			ffd0           # call rax
			0f05           # syscall
		`)
		m.poke(codeAt+0x10, "c3")
		if !first {
			m.cpu.Regs[emu.RAX] = uint64(codeAt + 0x10)
			m.run(emu.StopSyscall)
		}
		m.cpu.RIP, m.cpu.Regs[emu.RAX] = codeAt, 0
		stop := m.run(emu.StopFault)
		require.Equal(t, &emu.Fault{Vector: emu.VecPF, Exec: true}, stop.Fault)
		require.Zero(t, m.cpu.RIP)
		require.Contains(t, m.arcs(), fmt.Sprintf("0-%x 1 0", ^uint64(codeAt)+1))
	}
}

// TestTooManyFrames has more active functions than there is room for.
func TestTooManyFrames(t *testing.T) {
	defer func(room uintptr) { frameRoom = room }(frameRoom)
	frameRoom = 64 << 10
	for _, code := range []string{"e8fbffffff # call 0", "ffd0 # call rax", "e80b000000 # call 10"} {
		for _, model := range []string{"v3", "v4", "v3, simulating"} { // totals in a register where the host has AVX-512, and in memory
			cfg := emu.Config{Function: sixteen}
			name, _, simulates := strings.Cut(model, ",")
			if simulates {
				cfg.Caches, cfg.Branches, cfg.Events = simulating.Caches, simulating.Branches, simulating.Events
			}
			var err error
			cfg.Model, err = emu.ModelByName(name)
			require.NoError(t, err)
			m := newMachineWith(t, cfg, code)
			m.cpu.Regs[emu.R8], m.cpu.Regs[emu.R9] = 8, 9
			m.poke(codeAt+0x10, "ffe3")       // jmp rbx
			m.poke(codeAt+0x20, "e8ebffffff") // call 10
			m.cpu.Regs[emu.RAX], m.cpu.Regs[emu.RBX] = uint64(codeAt), uint64(codeAt+0x20)
			stop := m.run(emu.StopFault)
			require.Contains(t, stop.Fault.Unsupported, "a call graph with more than 4096 active functions", code)
			require.Contains(t, []emu.Addr{codeAt, codeAt + 0x20}, m.cpu.RIP)
			require.Equal(t, []uint64{8, 9}, m.cpu.Regs[emu.R8:emu.R9+1])
		}
	}
}

// TestTooManyArcs has more pairs of places than there is room for: those of calls, and of jumps where these are counted.
func TestTooManyArcs(t *testing.T) {
	defer func(room int) { sumsRoom = room }(sumsRoom)
	jumps := "488d3d09000000 ffe7" + strings.Repeat("90", 7) // lea rdi, [10]; 7: jmp rdi
	for at := 0x10; at < 0x1f00; at += 0x10 {
		jumps += fmt.Sprintf("4883c710 e9%08x", bits.ReverseBytes32(uint32(7-(at+9)))) + strings.Repeat("90", 7) // add rdi, 16; jmp 7
	}
	for _, code := range []string{jumps, `
		488d3d09000000 # lea rdi, [10]
		ffd7           # 7: call rdi
		48ffc7         # inc rdi
		ebf9           # jmp 7
		90 90` + strings.Repeat("c3", 0x1e00), // 10: many functions
	} {
		for name, cfg := range map[string]emu.Config{"Ir": {}, "simulating": simulating} {
			cfg.Function, cfg.Jumps = sixteen, code == jumps
			m := newMachineWith(t, cfg, code)
			for arcs := range 8 { // whatever comes up last
				sumsRoom = 8 * (2*maxBlock + 100 + arcs) * m.calls.Width()
				m.cpu.RIP, m.cpu.Regs[emu.R8], m.cpu.Regs[emu.R9] = codeAt, 8, 9
				stop := m.run(emu.StopFault)
				require.Contains(t, stop.Fault.Unsupported, "a call graph of more than", name)
				require.Equal(t, []uint64{8, 9}, m.cpu.Regs[emu.R8:emu.R9+1], name)
			}
			require.NotEmpty(t, m.arcs())
		}
	}
}

// TestKeptArcs calls functions that lie next to each other from one place, in turn, and jumps to them from another: all
// arcs are kept, so that generated code finds them.
func TestKeptArcs(t *testing.T) {
	const functions = 40
	one := func(a emu.Addr) emu.Function { return emu.Function{ID: a, Lo: a, Hi: a + 1} }
	for _, code := range []string{"ffd7 0f05 # call rdi; syscall", "e81b000000 0f05 # call 20; syscall"} {
		m := newMachineWith(t, emu.Config{Function: one}, code)
		m.poke(codeAt+0x20, "ffe7 # jmp rdi")
		m.poke(codeAt+0x100, strings.Repeat("c3", functions))
		for range 4 {
			for i := range emu.Addr(functions) {
				m.cpu.RIP, m.cpu.Regs[emu.RDI] = codeAt, uint64(codeAt+0x100+i)
				m.run(emu.StopSyscall)
			}
		}
		kept := map[uint64]bool{}
		for at := arcsOff; at < arcsOff+arcsSize; at += arcSlot {
			if target := emu.Addr(m.get(at)); target >= codeAt+0x100 && target < codeAt+0x100+functions {
				kept[m.get(at)] = true
			}
		}
		require.Len(t, kept, functions)
		arcs := m.arcs()
		for i := range functions {
			require.Condition(t, func() bool {
				return slices.ContainsFunc(arcs, func(s string) bool { return strings.Contains(s, fmt.Sprintf("-%x 4 ", 0x100+i)) })
			}, "%d: %v", i, arcs)
		}
	}
}

// TestRunAcrossFunctions has straight runs go from function to function, which end blocks where calls are recorded: a
// budget loses the same for them.
func TestRunAcrossFunctions(t *testing.T) {
	const budget = 1 << 30
	for _, nops := range []int{9, 15, 16, 30, 40, 47, 48, 49, 60, 100, 200} {
		code := strings.Repeat("90 ", nops) + "ff c9 75 f5 e8 00 00 00 00 0f 05" // nops; dec ecx; jnz into the last nops; call to syscall
		var left []int64
		for _, cfg := range []emu.Config{{}, {Function: sixteen}} {
			m := newMachineWith(t, cfg, code)
			for range 2 {
				m.cpu.RIP, m.cpu.Regs[emu.RCX] = codeAt, 5
				stop := m.Run(m.cpu, budget)
				require.Equal(t, emu.StopSyscall, stop.Reason)
				left = append(left, stop.Left)
			}
		}
		require.Equal(t, slices.Repeat(left[:1], 4), left, "%d nops", nops)
	}
}

// TestFallingAgain has a straight run go on in another function a thousand times: the block there is translated once,
// and again where code there has changed.
func TestFallingAgain(t *testing.T) {
	m := newMachineWith(t, emu.Config{Function: sixteen}, strings.Repeat("90 ", 20)+"ff c9 75 e8 0f 05") // nops; dec ecx; jnz to the first; syscall
	want := 0
	for _, long := range []int{22, 21, 21} { // instructions
		if long == 21 {
			m.poke(codeAt+16, "40") // REX in place of a NOP
		}
		m.cpu.RIP, m.cpu.Regs[emu.RCX] = codeAt, 1000
		before := len(m.all)
		stop := m.Run(m.cpu, 1<<30)
		require.Equal(t, emu.StopSyscall, stop.Reason)
		require.EqualValues(t, 1<<30-999*long, stop.Left)
		require.Less(t, len(m.all)-before, 10)
		want += 1000*long + 1
	}
	got := 0
	for _, n := range m.counts() {
		got += int(n)
	}
	require.Equal(t, want, got)
	m.retire()
	require.Zero(t, m.live(), "blocks that nothing reaches are not counted as dead")
}
