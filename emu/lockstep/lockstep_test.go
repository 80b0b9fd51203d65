//go:build linux

package lockstep

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/interp"
	"github.com/cgemu/cgemu/emu/mem"
)

const (
	codeAt emu.Addr = 0x100000
	dataAt emu.Addr = 0x200000
)

type env struct{ asked uint64 }

func (e *env) TSC() uint64 { e.asked++; return e.asked }

func (e *env) TSCCounts() bool { return false }

func (e *env) Random() uint64 { return e.TSC() }

// A wrong engine does something wrong behind an instruction at an address.
type wrong struct {
	emu.Engine
	at emu.Addr
	do func(c *emu.CPU)
}

func (w *wrong) Run(c *emu.CPU, budget uint64) emu.Stop {
	begin := c.RIP
	stop := w.Engine.Run(c, budget)
	if begin <= w.at && c.RIP > w.at {
		w.do(c)
	}
	return stop
}

// check runs code with an engine and one that does something wrong behind the instruction at wrongAt, up to its third
// system call, and returns the mismatch.
func check(t *testing.T, code []byte, wrongAt emu.Addr, do func(m *mem.Space, c *emu.CPU)) (found *Mismatch, c *emu.CPU) {
	t.Helper()
	m, err := mem.New()
	require.NoError(t, err)
	defer m.Close()
	require.NoError(t, m.Map(mem.VMA{Lo: codeAt, Hi: codeAt + emu.PageSize, Prot: mem.Read | mem.Write | mem.Exec}, nil))
	require.NoError(t, m.Map(mem.VMA{Lo: dataAt, Hi: dataAt + emu.PageSize, Prot: mem.Read | mem.Write}, nil))
	m.Write(codeAt, code)
	model, err := emu.ModelByName("v3")
	require.NoError(t, err)
	right := func(m *mem.Space, env emu.Env, _ bool) (emu.Engine, error) {
		return interp.New(m, emu.Config{Model: model, Env: env})
	}
	bad := func(m *mem.Space, env emu.Env, replica bool) (emu.Engine, error) {
		e, err := right(m, env, replica)
		return &wrong{e, wrongAt, func(c *emu.CPU) {
			if do != nil {
				do(m, c)
			}
		}}, err
	}
	e, err := New(m, &env{}, model, true, [2]Factory{right, bad})
	require.NoError(t, err)
	defer e.Close()
	e.OnMismatch = func(d Mismatch) { found = &d }
	m.OnInvalidate(e.Invalidate)
	c = emu.NewCPU()
	c.RIP = codeAt
	c.Regs[emu.RBX] = uint64(dataAt)
	for range 3 {
		if stop := e.Run(c, emu.NoBudget); stop.Reason != emu.StopSyscall {
			break
		}
	}
	return found, c
}

// TestAgree runs code that changes itself, counts in memory and asks for the time, twice in one memory: it happens
// once.
func TestAgree(t *testing.T) {
	code := []byte{
		0xfe, 0x03, // inc byte [rbx]
		0xfe, 0x05, 0x0c, 0x00, 0x00, 0x00, // inc byte [rip+12]: the constant below
		0x0f, 0x31, // rdtsc
		0x01, 0x43, 0x08, // add [rbx+8], eax
		0x49, 0xff, 0xc0, // inc r8
		0x0f, 0x05, // syscall
		0x90, 0xbe, 0x05, 0x00, 0x00, 0x00, // nop; mov esi, 5
		0xeb, 0xe6, // jmp to the beginning
	}
	found, c := check(t, code, 0, nil)
	require.Nil(t, found)
	require.EqualValues(t, 3, c.Regs[emu.R8])
	require.EqualValues(t, 7, c.Regs[emu.RSI], "5 as it was changed two times")
	require.EqualValues(t, 3, c.Regs[emu.RAX], "asked three times")
}

// widen gives c AVX-512.
func widen(c *emu.CPU) *emu.CPU {
	c.FP.SetComponents(emu.XFeatures | emu.XAVX512)
	return c
}

// TestMismatches has something wrong found, and its place.
func TestMismatches(t *testing.T) {
	code := []byte{
		0x0f, 0x05, // syscall
		0x0f, 0x05, // syscall
		0x48, 0x89, 0x03, // mov [rbx], rax
		0x48, 0x01, 0xd0, // add rax, rdx
		0x0f, 0x05, // syscall
	}
	const store, add = codeAt + 4, codeAt + 7
	for name, tt := range map[string]struct {
		at   emu.Addr
		do   func(m *mem.Space, c *emu.CPU)
		what string
	}{
		"a register":             {add, func(_ *mem.Space, c *emu.CPU) { c.Regs[emu.R9]++ }, "r9 0x0, 0x1"},
		"an upper half":          {add, func(_ *mem.Space, c *emu.CPU) { c.FP[emu.XOffYMMH+17]++ }, "ymm1's upper half 00 00"},
		"a mask":                 {add, func(_ *mem.Space, c *emu.CPU) { widen(c).FP[emu.XOffOpmask+9]++ }, "k1 00 00"},
		"a highest half":         {add, func(_ *mem.Space, c *emu.CPU) { widen(c).FP[emu.XOffZMMH+33]++ }, "zmm1's upper half 00 00"},
		"a further register":     {add, func(_ *mem.Space, c *emu.CPU) { widen(c).FP[emu.XOffHiZMM+65]++ }, "zmm17 00 00"},
		"an exception":           {store, func(_ *mem.Space, c *emu.CPU) { c.FP[emu.XOffMXCSR] |= 1 }, "mxcsr 80 1f 00 00, 81 1f 00 00"},
		"memory":                 {store, func(m *mem.Space, _ *emu.CPU) { m.Write(dataAt, []byte{5}) }, "memory at 0x200000 00"},
		"memory that has no use": {store, func(m *mem.Space, _ *emu.CPU) { m.Write(dataAt+100, []byte{5}) }, "memory at 0x200064 00"},
		"a flag":                 {add, func(_ *mem.Space, c *emu.CPU) { c.Flags ^= emu.FlagCF }, "flags 0x246, 0x247"},
	} {
		t.Run(name, func(t *testing.T) {
			found, _ := check(t, code, tt.at, tt.do)
			require.NotNil(t, found)
			require.Contains(t, found.What, tt.what)
			require.Equal(t, tt.at, found.At)
		})
	}
}

// TestUndefinedFlags has flags differ that an instruction left undefined, and one that it did not.
func TestUndefinedFlags(t *testing.T) {
	code := []byte{
		0x48, 0x39, 0xd0, // cmp rax, rdx
		0x48, 0x0f, 0xaf, 0xc2, // imul rax, rdx
		0x0f, 0x05, // syscall
	}
	found, _ := check(t, code, codeAt+3, func(_ *mem.Space, c *emu.CPU) { c.Flags ^= emu.FlagZF | emu.FlagPF })
	require.Nil(t, found)
	found, _ = check(t, code, codeAt+3, func(_ *mem.Space, c *emu.CPU) { c.Flags ^= emu.FlagCF })
	require.NotNil(t, found)
	require.Equal(t, codeAt+3, found.At)
	require.Contains(t, found.Insn, "imul")
}
