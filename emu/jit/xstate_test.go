//go:build linux && amd64

package jit

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
)

// TestStateKept has vectors come and go with the upper halves in use and without, and x87 as Go left it, although no
// code needed it before.
func TestStateKept(t *testing.T) {
	t.Run("as ever", func(t *testing.T) { testStateKept(t, newMachine(t, stateKept)) })
	for _, mmx := range [2]bool{false, true} {
		t.Run(fmt.Sprintf("without AVX-512/%v", mmx), func(t *testing.T) {
			m := newMachine(t, stateKept)
			m.onLesserHost(mmx)
			testStateKept(t, m)
		})
	}
}

const stateKept = `
		0f05               # syscall
		c5 fd fe c1        # 2: vpaddd ymm0, ymm0, ymm1
		c4 41 05 fe f8     # vpaddd ymm15, ymm15, ymm8
		0f05               # syscall
		d9 3f              # d: fnstcw [rdi]
		d9 e8              # fld1
		0f05               # syscall
		66 0f fe c1        # 13: paddd xmm0, xmm1
		c5 f8 77           # vzeroupper
		0f05               # syscall
		d9 fe              # 1d: fsin
		66 0f fe c1        # paddd xmm0, xmm1
		0f05               # syscall
	`

func testStateKept(t *testing.T, m *machine) {
	x := m.cpu.FP
	half := func(off, r int) []byte { return x[off+16*r:][:16] }
	fill := func(b []byte, v byte) { copy(b, bytes.Repeat([]byte{v, 0, 0, 0}, len(b)/4)) }
	for r := range 16 {
		fill(half(emu.XOffXMM, r), byte(r+1))
		fill(half(emu.XOffYMMH, r), byte(r+101))
	}
	m.cpu.Regs[emu.RDI] = uint64(dataAt)
	m.run(emu.StopSyscall)
	require.Zero(t, m.get(stX87))
	m.run(emu.StopSyscall)
	require.Equal(t, []byte{1 + 2, 101 + 102}, []byte{half(emu.XOffXMM, 0)[4], half(emu.XOffYMMH, 0)[4]})
	require.Equal(t, []byte{16 + 9, 116 + 109}, []byte{half(emu.XOffXMM, 15)[12], half(emu.XOffYMMH, 15)[12]})
	require.Equal(t, []byte{15, 115}, []byte{half(emu.XOffXMM, 14)[0], half(emu.XOffYMMH, 14)[0]})
	require.Zero(t, m.get(stX87))

	binary.LittleEndian.PutUint16(x[emu.XOffFCW:], 0x27f) // as a signal handler's frame may have it
	m.run(emu.StopSyscall)
	word, ok := m.mem.ReadUint64(dataAt)
	require.True(t, ok)
	require.EqualValues(t, 0x27f, uint16(word))
	require.Equal(t, m.mmx, m.get(stX87) == 0)
	require.EqualValues(t, 0x3fff, binary.LittleEndian.Uint16(x[emu.XOffST+8:]), "1.0 on the stack")
	require.Equal(t, make([]byte, 18), x[emu.XOffFOP:][:18], "no address of the host's")

	m.run(emu.StopSyscall)
	require.EqualValues(t, 0x3fff, binary.LittleEndian.Uint16(x[emu.XOffST+8:]))
	require.Equal(t, byte(1+2+2), half(emu.XOffXMM, 0)[4])
	require.Equal(t, make([]byte, 256), x[emu.XOffYMMH:][:256])

	fill(half(emu.XOffYMMH, 0), 101)
	m.run(emu.StopSyscall)
	require.Equal(t, m.mmx, m.get(stX87) == 0, "loaded behind what Go executed")
	require.Equal(t, uint64(0xd76aa47848677021), binary.LittleEndian.Uint64(x[emu.XOffST:]), "sin(1)")
	require.Equal(t, []byte{1 + 2 + 2 + 2, 101}, []byte{half(emu.XOffXMM, 0)[4], half(emu.XOffYMMH, 0)[4]})
}

// TestX87OfThreads has two threads take turns, each with a number on x87's stack, and code without x87 in between: each
// keeps its own, on CPUs with AVX-512 and without.
func TestX87OfThreads(t *testing.T) {
	for _, tt := range []struct {
		model       string
		lesser, mmx bool
	}{{"v3", false, false}, {"v4", false, false}, {"v3", true, false}, {"v3", true, true}, {"v4", true, false}, {"v4", true, true}} {
		t.Run(fmt.Sprintf("%s/%v/%v", tt.model, tt.lesser, tt.mmx), func(t *testing.T) {
			model, err := emu.ModelByName(tt.model)
			require.NoError(t, err)
			m := newMachineWith(t, emu.Config{Model: model}, `
				db 2f     # fld tbyte [rdi]
				0f 05     # syscall
				48 ff c3  # inc rbx
				0f 05     # syscall
				db 7e 10  # fstp tbyte [rsi+16]
				d9 e8     # fld1
				db 3e     # fstp tbyte [rsi]
				0f 05     # syscall
			`)
			if tt.lesser {
				m.onLesserHost(tt.mmx)
			}
			var threads [2]*emu.CPU
			for k := range threads {
				c := emu.NewCPU()
				c.RIP, c.Regs[emu.RDI], c.Regs[emu.RSI], c.Regs[emu.RSP] = codeAt, uint64(dataAt)+0x100+0x10*uint64(k), uint64(dataAt)+0x20*uint64(k), uint64(stackAt)
				m.mem.Poke(emu.Addr(c.Regs[emu.RDI]), []byte{0, 0, 0, 0, 0, 0, 0, 0x80, 0, 0x40 + byte(k)})
				threads[k] = c
			}
			for range 3 {
				for _, m.cpu = range threads {
					m.run(emu.StopSyscall)
				}
			}
			for k := range threads {
				got := make([]byte, 26)
				require.Equal(t, len(got), m.mem.Read(dataAt+0x20*emu.Addr(k), got))
				require.Equal(t, []byte{0, 0, 0, 0, 0, 0, 0, 0x80, 0xff, 0x3f}, got[:10])
				require.Equal(t, []byte{0, 0, 0, 0, 0, 0, 0, 0x80, 0, 0x40 + byte(k)}, got[16:])
			}
		})
	}
}

// TestX87AcrossFault has instructions of x87 between references that are simulated together, the last of which faults:
// that leaves generated code at the first reference, and comes back.
func TestX87AcrossFault(t *testing.T) {
	m := newSimulator(t, `
		d9 e8     # fld1
		50        # push rax
		d9 ee     # fldz
		50        # push rax
		d9 ee     # fldz
		50        # push rax: below the stack
	`)
	m.cpu.Regs[emu.RSP] = uint64(stackAt - stackSize + 16)
	m.run(emu.StopFault)
	require.EqualValues(t, codeAt+8, m.cpu.RIP)
	var exponents []uint16
	for r := range 3 {
		exponents = append(exponents, binary.LittleEndian.Uint16(m.cpu.FP[emu.XOffST+16*r+8:]))
	}
	require.Equal(t, []uint16{0, 0, 0x3fff}, exponents)
}

// TestX87Resumed has Go change x87 while a call's first exit is handled: generated code goes on behind the exit with
// x87 as Go left it.
func TestX87Resumed(t *testing.T) {
	var m *machine
	changes := 0
	function := func(a emu.Addr) emu.Function {
		if m != nil && (m.mmx || m.get(stX87) != 0) {
			binary.LittleEndian.PutUint16(m.cpu.FP[emu.XOffST+8:], 0x4000) // 2.0
			changes++
		}
		return sixteen(a)
	}
	m = newMachineWith(t, emu.Config{Function: function}, `
		d9 e8     # fld1
		ff d0     # call rax
	`)
	m.poke(codeAt+0x10, `
		db 3f     # fstp tbyte [rdi]
		0f 05     # syscall
	`)
	m.cpu.Regs[emu.RAX], m.cpu.Regs[emu.RDI] = uint64(codeAt+0x10), uint64(dataAt)
	m.run(emu.StopSyscall)
	require.NotZero(t, changes)
	got := make([]byte, 10)
	require.Equal(t, len(got), m.mem.Read(dataAt, got))
	require.Equal(t, []byte{0, 0, 0, 0, 0, 0, 0, 0x80, 0, 0x40}, got)
}

// TestEnvironments compares FNSTENV and FLDENV in generated code with Go's, of any state of x87 and any environment, and
// of operands that end where memory does or lie beyond. A fault leaves all as it was.
func TestEnvironments(t *testing.T) {
	wide, err := emu.ModelByName("v4")
	require.NoError(t, err)
	for name, mode := range map[string]struct {
		cfg    emu.Config
		lesser func(m *machine)
	}{
		"as ever": {}, "v4": {cfg: emu.Config{Model: wide}}, "caches": {cfg: mmxModes["simulation"]},
		"MMX": {lesser: func(m *machine) { m.onLesserHost(true) }}, "memory": {lesser: func(m *machine) { m.onLesserHost(false) }},
	} {
		for insn, code := range map[string]string{
			"fnstenv [rsi]": "d9 36", "fldenv [rsi]": "d9 26", "fnstenv fs:[rsi-8]": "64 d9 76 f8", "fldenv fs:[rsi-8]": "64 d9 66 f8",
			"fnstenv [esi+0x10]": "67 d9 76 10", "fnstenv16 [rsi]": "66 d9 36", "fldenv16 [rsi]": "66 d9 26",
		} {
			t.Run(name+"/"+insn, func(t *testing.T) {
				m := newMachineWith(t, mode.cfg, fmt.Sprintf("39 c0 f9 %s 9c 41 5f 0f 05", code)) // cmp eax, eax; stc; …; pushfq; pop r15; syscall
				if mode.lesser != nil {
					mode.lesser(m)
				}
				var g guest.Insn
				require.True(t, m.decoder.Decode(&g, codeAt+3))
				r := rand.New(rand.NewPCG(17, 18))
				for range 500 {
					compareEnvironment(t, m, r, &g)
				}
			})
		}
	}
}

// compareEnvironment executes the instruction behind the third byte of m's code, g, there and in Go.
func compareEnvironment(t *testing.T, m *machine, r *rand.Rand, g *guest.Insn) {
	before := emu.NewCPU()
	before.FP.SetComponents(m.Model.XCR0)
	anyX87(r, before.FP)
	for reg := range before.Regs {
		before.Regs[reg] = r.Uint64()
	}
	end := uint64(dataAt) + emu.PageSize
	before.RIP, before.Regs[emu.RSP], before.FSBase = codeAt, uint64(stackAt), 16
	before.Regs[emu.RSI] = end - []uint64{28, 28 + 8, 28 + 16, uint64(r.IntN(48)), 0x200}[r.IntN(5)]
	environment := make([]byte, 0x200)
	for i := range environment {
		environment[i] = byte(r.Uint32())
	}
	var after [2]*emu.CPU
	var memory [2][0x200]byte
	var faults [2]emu.Fault
	for i := range after {
		m.mem.Poke(emu.Addr(end-0x200), environment)
		c := emu.NewCPU()
		c.Copy(before)
		if after[i] = c; i == 0 {
			if f := m.machine.Execute(c, g); f != nil {
				faults[i] = *f
			}
		} else {
			m.cpu = c
			if stop := m.Run(c, emu.NoBudget); stop.Reason == emu.StopFault {
				faults[i] = *stop.Fault
			} else {
				require.Equal(t, emu.StopSyscall, stop.Reason)
				require.EqualValues(t, emu.FlagZF|emu.FlagPF|emu.FlagCF, c.Regs[emu.R15]&0x8d5)
				c.Regs[emu.R15], c.Regs[emu.RCX], c.Regs[emu.R11] = before.Regs[emu.R15], before.Regs[emu.RCX], before.Regs[emu.R11]
			}
		}
		require.Equal(t, len(environment), m.mem.Read(emu.Addr(end-0x200), memory[i][:]))
	}
	require.Equal(t, faults[0], faults[1])
	require.Equal(t, x87State(after[0]), x87State(after[1]), "of %s", x87State(before))
	require.Equal(t, after[0].FP, after[1].FP)
	require.Equal(t, after[0].Regs, after[1].Regs)
	require.Equal(t, memory[0], memory[1])
}
