//go:build linux && amd64

package jit

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/cachesim"
	"github.com/cgemu/cgemu/emu"
)

// A countingEnv has a time stamp counter that counts instructions, and counts who asks.
type countingEnv struct {
	testEnv
	e      *Engine
	counts bool
	asked  int
}

func (c *countingEnv) TSC() uint64 {
	c.asked++
	return 1<<32 - 500 + c.e.Executed()
}

func (c *countingEnv) TSCCounts() bool { return c.counts }

// TestAnswers has generated code answer CPUID and RDTSC as Go's code does, with the flags as they were: with a question
// that changes, and between REP instructions and runs, behind which RDTSC is asked again.
func TestAnswers(t *testing.T) {
	const code = `
		49 89 c8               # mov r8, rcx
		f9                     # stc
		0f 31                  # rdtsc
		11 c3                  # adc ebx, eax
		11 d3                  # adc ebx, edx
		0f 01 f9               # rdtscp
		4d 8d 4c c9 01         # lea r9, [r9+rcx*8+1]
		69 db 0d 66 19 00      # imul ebx, ebx, 1664525
		01 c3                  # add ebx, eax
		48 89 f7               # mov rdi, rsi
		4c 89 c1               # mov rcx, r8
		83 e1 03               # and ecx, 3
		f3 aa                  # rep stosb
		4c 89 c0               # mov rax, r8
		48 c1 e8 04            # shr rax, 4
		44 89 c1               # mov ecx, r8d
		c1 e9 02               # shr ecx, 2
		83 e1 03               # and ecx, 3
		41 89 da               # mov r10d, ebx
		0f a2                  # cpuid
		41 11 c1               # adc r9d, eax
		41 01 d9               # add r9d, ebx
		41 01 c9               # add r9d, ecx
		45 31 d1               # xor r9d, r10d
		41 01 d1               # add r9d, edx
		44 89 d3               # mov ebx, r10d
		4c 89 c1               # mov rcx, r8
		48 ff c9               # dec rcx
		75 ac                  # jne codeAt
		0f 05                  # syscall
	`
	const rounds = 3 * 400
	for name, tt := range map[string]struct {
		cfg   emu.Config
		asked int // at most
	}{
		"ir":        {emu.Config{}, rounds / 3},
		"calls":     {emu.Config{Function: func(emu.Addr) emu.Function { return emu.Function{Lo: codeAt, Hi: codeAt + 0x1000} }}, rounds / 3},
		"simulated": {emu.Config{Caches: &cachesim.Default, Branches: true, Events: ^emu.EventSet(0)}, rounds}, // Go's code sees to each REP
	} {
		t.Run(name, func(t *testing.T) {
			var states [2]emu.CPU
			var envs [2]*countingEnv
			for i := range envs {
				m := newMachineWith(t, tt.cfg, code)
				envs[i] = &countingEnv{e: m.Engine, counts: i == 1}
				m.Env, m.machine.Env, m.added = envs[i], envs[i], 1<<62
				for range 3 {
					m.cpu.RIP, m.cpu.Regs[emu.RCX], m.cpu.Regs[emu.RSI] = codeAt, 400, uint64(dataAt)
					m.run(emu.StopSyscall)
				}
				require.True(t, m.metered)
				m.cpu.FP = nil
				states[i] = *m.cpu
			}
			require.Equal(t, states[0], states[1])
			require.Equal(t, 2*rounds, envs[0].asked)
			require.LessOrEqual(t, envs[1].asked, tt.asked)
		})
	}
}
