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

// usesOfAway are pieces of code that use R10 and R11, or go elsewhere while they are away. RDI points to data; RBX, and
// what follows from it, to nothing.
var usesOfAway = []string{
	"4c 89 d0                               # mov rax, r10",
	"49 89 c2                               # mov r10, rax",
	"49 89 db                               # mov r11, rbx",
	"4c 89 db                               # mov rbx, r11",
	"49 89 fa                               # mov r10, rdi",
	"49 89 fb                               # mov r11, rdi",
	"4d 87 da                               # xchg r10, r11",
	"4d 01 d3                               # add r11, r10",
	"4d 31 db                               # xor r11, r11",
	"4b 8d 0c 1a                            # lea rcx, [r10+r11]",
	"49 8b 0a                               # mov rcx, [r10]",
	"49 89 4b 08                            # mov [r11+8], rcx",
	"43 8a 0c 1a                            # mov cl, [r10+r11]",
	"4c 8b 1b                               # mov r11, [rbx]",
	"4c 8b 14 24 4c 8b 1b                   # mov r10, [rsp]; mov r11, [rbx]",
	"64 4c 8b 14 25 00 00 00 00             # mov r10, fs:[0]",
	"4c 89 57 08                            # mov [rdi+8], r10",
	"4c 8b 5f 08                            # mov r11, [rdi+8]",
	"48 8b 4f 10 48 03 4f 18                # mov rcx, [rdi+16]; add rcx, [rdi+24]",
	"41 52                                  # push r10",
	"41 5b                                  # pop r11",
	"50 5a                                  # push rax; pop rdx",
	"4d 39 da 75 03 48 ff c0                # cmp r10, r11; jne over; inc rax",
	"4d 39 da 48 8b 0f 75 03 48 ff c0       # cmp r10, r11; mov rcx, [rdi]; jne over; inc rax",
	"48 83 3f 01 73 02 eb 00                # cmp qword [rdi], 1; jae over; jmp over",
	"e8 00 00 00 00 5a                      # call over; pop rdx",
	"e8 02 00 00 00 eb 01 c3                # call f; jmp over; f: ret",
	"e8 02 00 00 00 eb 04 49 ff c3 c3       # call f; jmp over; f: inc r11; ret",
	"4c 8d 15 03 00 00 00 41 ff e2          # lea r10, [over]; jmp r10",
	"4c 8d 1d 03 00 00 00 41 ff d3 41 5b    # lea r11, [over]; call r11; pop r11",
	"48 8d 05 07 00 00 00 48 89 47 40 ff 67 40 # lea rax, [over]; mov [rdi+64], rax; jmp [rdi+64]",
	"48 8d 05 0b 00 00 00 48 89 47 40 49 89 fa 41 ff 62 40 # the same; mov r10, rdi; jmp [r10+64]",
	"4c 8d 1d 07 00 00 00 4c 89 5f 40 ff 67 40 # lea r11, [over]; mov [rdi+64], r11; jmp [rdi+64]",
	"4c 8d 15 0b 00 00 00 49 89 fb 4d 89 53 40 41 ff 53 40 5a # lea r10, [over]; mov r11, rdi; mov [r11+64], r10; call [r11+64]; pop rdx",
	"b9 03 00 00 00 49 ff c2 e2 fb          # mov ecx, 3; again: inc r10; loop again",
	"b9 03 00 00 00 49 ff c2 ff c9 75 f9    # mov ecx, 3; again: inc r10; dec ecx; jnz again",
	"4c 0f a3 17                            # bt [rdi], r10",
	"f0 4c 0f b1 1f                         # lock cmpxchg [rdi], r11",
	"c4 c2 70 f2 c2                         # andn eax, ecx, r10d",
	"57 b9 05 00 00 00 f3 aa 5f             # push rdi; mov ecx, 5; rep stosb; pop rdi",
	// mov r11, rdi; stc; call over; bswap r11; lea of all registers but RAX; setc al; pop rdx
	"49 89 fb f9 e8 00 00 00 00 49 0f cb 48 8d 14 0a 48 8d 1b 48 8d 6d 00 48 8d 36 48 8d 3f 4d 8d 00 4d 8d 09 4d 8d 12 4d 8d 24 24 4d 8d 6d 00 4d 8d 36 4d 8d 3f 0f 92 c0 5a",
	"0f 31                                  # rdtsc",
	"31 c0 0f a2 49 89 fa                   # xor eax, eax; cpuid; mov r10, rdi",
	"d9 e8 d9 fe dd d8                      # fld1; fsin; fstp st0",
	"41 0f 53 02                            # rcpps xmm0, [r10]",
}

// TestAway executes code in which registers are away, as something is simulated or calls are recorded, and code where
// none are, until it faults or ends: all of the guest's registers are the same.
func TestAway(t *testing.T) {
	caches := emu.Config{Caches: &cachesim.Default, Events: simulating.Events}
	calls, limited := simulating, simulating
	calls.Function, limited.Limited = sixteen, true
	alone, branches := emu.Config{Function: sixteen, Jumps: true}, emu.Config{Branches: true, Events: simulating.Events}
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
		"memory": with(simulating, func(m *machine) { m.onLesserHost(false) }), "memory, calls": with(calls, func(m *machine) { m.onLesserHost(false) }),
		"calls alone": with(alone, as), "MMX, calls alone": with(alone, func(m *machine) { m.onLesserHost(true) }),
		"memory, calls alone": with(alone, func(m *machine) { m.onLesserHost(false) }), "branches": with(branches, as),
		"MMX, branches": with(branches, func(m *machine) { m.onLesserHost(true) }),
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
			if n%2 == 0 { // whose shadow stack lies near is made first
				got := make(t, text)
				stops[sameAway(t, newMachine(t, text), got, text)]++
			} else {
				stops[sameAway(t, newMachine(t, text), make(t, text), text)]++
			}
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
			r[emu.R10], r[emu.R11] = uint64(dataAt)+0x100, uint64(dataAt)+0x200
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
