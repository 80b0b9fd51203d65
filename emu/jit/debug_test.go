//go:build linux && amd64

package jit

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/cachesim"
	"github.com/cgemu/cgemu/emu"
)

// TestDebugBlock looks at why blocks end, at their counters, and the size of the host's code.
func TestDebugBlock(t *testing.T) {
	for _, tt := range []struct {
		name, code, end string
		insns           int
		counters        string
	}{
		{"a system call", "90 0f 05", "leaves", 2, "entries of 0"},
		{"a call", "90 e8 00000000 0f 05", "branch", 2, "entries of 0"},
		{"a jump backwards", "eb 02 0f 05 31c0 eb fa", "branch", 3, "entries of 1"},
		{"a conditional jump forwards", "31c0 75 02 90 90 0f 05", "leaves", 5, "entries of 0, exits of 1"},
		{"a loop", "ff c9 75 fc 0f 05", "loop", 16, "entries of 0, exits of 1, exits of 3, exits of 5, exits of 7, exits of 9, exits of 11, exits of 13"},
		{"REP", "f3 aa 0f 05", "leaves", 2, "entries of 0, iterations of 0"},
		{"a long run", strings.Repeat("90", maxInsns) + "0f 05", "length", maxInsns, "entries of 0"},
		{"the end of what can be executed", "e9 f9 1f 00 00", "fetch", 3, "entries of 0"},
		{"a mark", "90 90 90 0f 05", "mark", 2, "entries of 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var first *emu.Block
			var size int
			m := newMachineWith(t, emu.Config{Debug: &emu.Debug{Block: func(b *emu.Block) {
				if first == nil {
					first, size = b, b.Size()
				}
			}}}, tt.code)
			if tt.end == "fetch" {
				m.poke(codeAt+0x1ffe, "90 90")
			}
			m.SetMark(codeAt+2, tt.end == "mark")
			m.cpu.Regs[emu.RCX], m.cpu.Regs[emu.RDI] = 20, uint64(dataAt)
			m.Run(m.cpu, emu.NoBudget)
			require.Contains(t, first.End, tt.end)
			require.Len(t, first.Insns, tt.insns)
			var counters []string
			for _, c := range first.Counters {
				what, _, _ := strings.Cut(c.What, " ")
				counters = append(counters, fmt.Sprintf("%s of %d", strings.TrimSuffix(what, ","), c.Insn))
			}
			require.Equal(t, tt.counters, strings.Join(counters, ", "))
			block := m.Engine.all[0]
			require.EqualValues(t, block.end-block.entry, size)
			require.EqualValues(t, block.entry, first.Off)
			require.Equal(t, m.hostAddr(int(block.entry)), first.Addr)
			require.False(t, first.Once)
		})
	}
}

// A traced is what Debug.Step tells of an instruction.
type traced struct {
	at            emu.Addr
	code          string
	before, after uint64 // RAX
}

// TestDebugStep traces instructions of each kind: copied ones, jumps, calls and returns, emulated ones, long REP, a
// write to a page that has code, a system call. What counts is the same, also with all that can be simulated, and with
// a budget.
func TestDebugStep(t *testing.T) {
	const code = `
		b8 01 00 00 00           # 00 mov eax, 1
		e8 14 00 00 00           # 05 call 1e
		31 c9                    # 0a xor ecx, ecx
		0f a2                    # 0c cpuid
		b9 10 27 00 00           # 0e mov ecx, 10000
		bf 00 00 ff 0f           # 13 mov edi, 0xfff0000
		67 f3 aa                 # 18 rep stosb
		90                       # 1b nop
		0f 05                    # 1c syscall
		48 ff c0                 # 1e inc rax
		c3                       # 21 ret`
	plain := map[string]emu.Config{
		"counting":   {},
		"simulating": {Caches: &cachesim.Default, Branches: true, Events: ^emu.EventSet(0)},
	}
	for name, cfg := range plain {
		for _, budget := range []uint64{emu.NoBudget, 3} {
			t.Run(fmt.Sprint(name, budget), func(t *testing.T) {
				var steps []traced
				run := func(cfg emu.Config) (*machine, map[string]uint64) {
					m := newMachineWith(t, cfg, code)
					m.cpu.Regs[emu.RSP] -= 0x20000
					stop := m.Run(m.cpu, budget)
					for stop.Reason == emu.StopBudget {
						stop = m.Run(m.cpu, budget)
					}
					require.Equal(t, emu.StopSyscall, stop.Reason)
					counts := map[string]uint64{}
					m.Collect(0, ^emu.Addr(0), func(a emu.Addr, e emu.Event, n uint64) { counts[fmt.Sprint(a, e)] += n })
					return m, counts
				}
				want, wantCounts := run(cfg)
				cfg.Debug = &emu.Debug{Step: func(code []byte, before, after *emu.CPU) {
					steps = append(steps, traced{before.RIP - codeAt, fmt.Sprintf("%x", code), before.Regs[emu.RAX], after.Regs[emu.RAX]})
				}}
				got, counts := run(cfg)
				require.Equal(t, wantCounts, counts)
				require.Equal(t, want.Executed(), got.Executed())
				require.Equal(t, want.cpu.Regs, got.cpu.Regs)
				require.Equal(t, want.cpu.FP, got.cpu.FP)
				require.Equal(t, []traced{
					{0x00, "b801000000", 0, 1}, {0x05, "e814000000", 1, 1}, {0x1e, "48ffc0", 1, 2}, {0x21, "c3", 2, 2},
					{0x0a, "31c9", 2, 2},
				}, steps[:5])
				require.Equal(t, "0fa2", steps[5].code)
				require.NotEqual(t, steps[5].before, steps[5].after, "CPUID")
				last := steps[len(steps)-2:]
				require.Equal(t, emu.Addr(0x1b), last[0].at)
				require.Equal(t, "0f05", last[1].code)
			})
		}
	}
}
