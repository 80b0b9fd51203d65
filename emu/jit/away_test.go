//go:build linux && amd64

package jit

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/cachesim"
	"github.com/cgemu/cgemu/emu"
)

// usesOfAway are pieces of code that use R8 and R9, or go elsewhere while they are away. RDI points to data; RBX, and
// what follows from it, to nothing.
var usesOfAway = []string{
	"4c 89 c0                               # mov rax, r8",
	"49 89 c0                               # mov r8, rax",
	"49 89 d9                               # mov r9, rbx",
	"4c 89 cb                               # mov rbx, r9",
	"49 89 f8                               # mov r8, rdi",
	"49 89 f9                               # mov r9, rdi",
	"4d 87 c8                               # xchg r8, r9",
	"4d 01 c1                               # add r9, r8",
	"4d 31 c9                               # xor r9, r9",
	"4b 8d 0c 08                            # lea rcx, [r8+r9]",
	"49 8b 08                               # mov rcx, [r8]",
	"49 89 49 08                            # mov [r9+8], rcx",
	"43 8a 0c 08                            # mov cl, [r8+r9]",
	"4c 8b 0b                               # mov r9, [rbx]",
	"4c 8b 04 24 4c 8b 0b                   # mov r8, [rsp]; mov r9, [rbx]",
	"64 4c 8b 04 25 00 00 00 00             # mov r8, fs:[0]",
	"4c 89 47 08                            # mov [rdi+8], r8",
	"4c 8b 4f 08                            # mov r9, [rdi+8]",
	"48 8b 4f 10 48 03 4f 18                # mov rcx, [rdi+16]; add rcx, [rdi+24]",
	"41 50                                  # push r8",
	"41 59                                  # pop r9",
	"50 5a                                  # push rax; pop rdx",
	"4d 39 c8 75 03 48 ff c0                # cmp r8, r9; jne over; inc rax",
	"4d 39 c8 48 8b 0f 75 03 48 ff c0       # cmp r8, r9; mov rcx, [rdi]; jne over; inc rax",
	"48 83 3f 01 73 02 eb 00                # cmp qword [rdi], 1; jae over; jmp over",
	"e8 00 00 00 00 5a                      # call over; pop rdx",
	"e8 02 00 00 00 eb 01 c3                # call f; jmp over; f: ret",
	"e8 02 00 00 00 eb 04 49 ff c1 c3       # call f; jmp over; f: inc r9; ret",
	"4c 8d 05 03 00 00 00 41 ff e0          # lea r8, [over]; jmp r8",
	"4c 8d 0d 03 00 00 00 41 ff d1 41 59    # lea r9, [over]; call r9; pop r9",
	"48 8d 05 07 00 00 00 48 89 47 40 ff 67 40 # lea rax, [over]; mov [rdi+64], rax; jmp [rdi+64]",
	"48 8d 05 0b 00 00 00 48 89 47 40 49 89 f8 41 ff 60 40 # the same; mov r8, rdi; jmp [r8+64]",
	"b9 03 00 00 00 49 ff c0 e2 fb          # mov ecx, 3; again: inc r8; loop again",
	"b9 03 00 00 00 49 ff c0 ff c9 75 f9    # mov ecx, 3; again: inc r8; dec ecx; jnz again",
	"4c 0f a3 07                            # bt [rdi], r8",
	"f0 4c 0f b1 0f                         # lock cmpxchg [rdi], r9",
	"c4 c2 70 f2 c0                         # andn eax, ecx, r8d",
	"57 b9 05 00 00 00 f3 aa 5f             # push rdi; mov ecx, 5; rep stosb; pop rdi",
	// mov r9, rdi; stc; call over; bswap r9; lea of all registers but RAX; setc al; pop rdx
	"49 89 f9 f9 e8 00 00 00 00 49 0f c9 48 8d 14 0a 48 8d 1b 48 8d 6d 00 48 8d 36 48 8d 3f 4d 8d 00 4d 8d 12 4d 8d 1b 4d 8d 24 24 4d 8d 6d 00 4d 8d 36 4d 8d 3f 0f 92 c0 5a",
	"0f 31                                  # rdtsc",
	"31 c0 0f a2 49 89 f8                   # xor eax, eax; cpuid; mov r8, rdi",
	"d9 e8 d9 fe dd d8                      # fld1; fsin; fstp st0",
	"41 0f 53 00                            # rcpps xmm0, [r8]",
}

// TestAway executes code in which registers are away, as caches are simulated, and code where none are, until it faults
// or ends: all of the guest's registers are the same.
func TestAway(t *testing.T) {
	caches := emu.Config{Caches: &cachesim.Default, Events: simulating.Events}
	calls, limited := simulating, simulating
	calls.Function, limited.Limited = sixteen, true
	with := func(cfg emu.Config, change func(*machine)) func(*testing.T, string) *machine {
		return func(t *testing.T, code string) *machine {
			m := newMachineWith(t, cfg, code)
			change(m)
			return m
		}
	}
	as := func(*machine) {}
	for name, make := range map[string]func(*testing.T, string) *machine{
		"simulating": with(simulating, as), "caches": with(caches, as), "calls": with(calls, as), "limited": with(limited, as),
		"MMX": with(simulating, func(m *machine) { m.onLesserHost(true) }), "MMX, calls": with(mmxModes["simulation"], func(m *machine) { m.onLesserHost(true) }),
		"memory": with(simulating, func(m *machine) { m.onLesserHost(false) }),
	} {
		t.Run(name, func(t *testing.T) { testAway(t, make) })
	}
}

func testAway(t *testing.T, make func(*testing.T, string) *machine) {
	rng := rand.New(rand.NewPCG(8, 9))
	pieces, stops := map[string]bool{}, map[emu.StopReason]int{}
	for n := range 100 {
		var code []string
		for range 1 + rng.IntN(25) {
			code = append(code, usesOfAway[rng.IntN(len(usesOfAway))])
		}
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			text := strings.Join(append(code, "0f 05"), "\n")
			stops[sameAway(t, newMachine(t, text), make(t, text), text)]++
		})
		for _, c := range code {
			pieces[c] = true
		}
	}
	require.Len(t, pieces, len(usesOfAway))
	require.Greater(t, stops[emu.StopFault], 15)
	require.Greater(t, stops[emu.StopSyscall], 15)
}

// sameAway returns how the code ends.
func sameAway(t *testing.T, want, got *machine, code string) (reason emu.StopReason) {
	for round := range 3 { // the first one translates
		var stops [2]emu.Stop
		for i, m := range [2]*machine{want, got} {
			r := &m.cpu.Regs
			*r = [len(r)]uint64{}
			r[emu.RAX], r[emu.RBX], r[emu.RDI], r[emu.RSP] = 1, 0x123450, uint64(dataAt), uint64(stackAt)-0x100
			r[emu.R8], r[emu.R9] = uint64(dataAt)+0x100, uint64(dataAt)+0x200
			m.cpu.RIP = codeAt
			stops[i] = m.Run(m.cpu, emu.NoBudget)
			stops[i].Left = 0
		}
		message := fmt.Sprintf("round %d: %v, %v\n%s", round, stops[0], stops[1], code)
		require.Equal(t, stops[0], stops[1], message)
		require.Equal(t, want.cpu.RIP, got.cpu.RIP, message)
		require.Equal(t, want.cpu.Regs, got.cpu.Regs, message)
		reason = stops[0].Reason
	}
	return reason
}
