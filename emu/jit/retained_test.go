//go:build linux && amd64

package jit

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
)

// remap maps the code's pages anew, with code.
func (m *machine) remap(code string) {
	m.t.Helper()
	m.mem.Unmap(codeAt, codeAt+0x2000)
	require.NoError(m.t, m.mem.Map(mem.VMA{Lo: codeAt, Hi: codeAt + 0x2000, Prot: mem.Read | mem.Exec}, nil))
	m.poke(codeAt, code)
	m.cpu.RIP, m.cpu.Regs[emu.RAX] = codeAt, 0
}

const (
	addsOne = `
		48 83 c0 01  # add rax, 1
		0f 05        # syscall`
	addsTwo = `
		48 83 c0 02  # add rax, 2
		0f 05        # syscall`
)

// TestCodeComesBack has code go away with its mapping, and come back as it was and changed.
func TestCodeComesBack(t *testing.T) {
	m := newMachine(t, addsOne)
	e := m.Engine
	for _, tt := range []struct {
		code       string
		rax        uint64
		translated bool
	}{
		{addsOne, 1, true}, {addsOne, 1, false}, {addsTwo, 2, true}, {addsOne, 1, false}, {addsTwo, 2, false},
	} {
		m.remap(tt.code)
		at := e.pos
		m.run(emu.StopSyscall)
		require.Equal(t, tt.rax, m.cpu.Regs[emu.RAX])
		require.Equal(t, tt.translated, e.pos > at)
		require.Equal(t, map[emu.Addr]uint64{codeAt: 1, codeAt + 4: 1}, m.counts())
	}
}

// TestCodeOfAFile rewrites the file whose code runs, which the engine cannot see, and maps it anew: the code that is
// there then is what runs.
func TestCodeOfAFile(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "code"))
	require.NoError(t, err)
	defer f.Close()
	m := newMachine(t, "")
	for i, code := range []string{addsOne, addsTwo, addsTwo} {
		_, err := f.WriteAt(append(assemble(t, code), make([]byte, 0x1000)...), 0)
		require.NoError(t, err)
		m.mem.Unmap(codeAt, codeAt+0x1000)
		require.NoError(t, m.mem.Map(mem.VMA{Lo: codeAt, Hi: codeAt + 0x1000, Prot: mem.Read | mem.Exec}, f))
		m.cpu.RIP, m.cpu.Regs[emu.RAX] = codeAt, 0
		m.run(emu.StopSyscall)
		require.EqualValues(t, min(i+1, 2), m.cpu.Regs[emu.RAX])
	}
}

// TestSumsOfAFile rewrites the file whose code runs, which the engine cannot see: what is translated from there on has
// the sum of the page as it is now, and is not found on the page as it was.
func TestSumsOfAFile(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "code"))
	require.NoError(t, err)
	defer f.Close()
	m := newMachine(t, "")
	m.noting = true
	const other = codeAt + 0x100
	run := func(at emu.Addr, imm byte) {
		code := make([]byte, emu.PageSize)
		copy(code, []byte{0x48, 0x83, 0xc0, 1, 0x0f, 0x05})
		copy(code[0x100:], []byte{0x48, 0x83, 0xc0, imm, 0x0f, 0x05}) // add rax, imm; syscall
		_, err := f.WriteAt(code, 0)
		require.NoError(t, err)
		m.cpu.RIP, m.cpu.Regs[emu.RAX] = at, 0
		m.run(emu.StopSyscall)
	}
	remap := func() {
		m.mem.Unmap(codeAt, codeAt+0x1000)
		require.NoError(t, m.mem.Map(mem.VMA{Lo: codeAt, Hi: codeAt + 0x1000, Prot: mem.Read | mem.Exec}, f))
	}
	remap()
	run(codeAt, 2)
	run(other, 3)
	require.EqualValues(t, 3, m.cpu.Regs[emu.RAX])
	remap()
	run(other, 2)
	require.EqualValues(t, 2, m.cpu.Regs[emu.RAX])
}

// TestDataBesideCode writes to the page of the code that runs: the code is translated once, but for the instruction
// that writes.
func TestDataBesideCode(t *testing.T) {
	m := newMachine(t, `
		48 ff 05 f9 00 00 00 # inc qword [rip+0xf9]
		0f 05                # syscall`)
	require.NoError(t, m.mem.Protect(codeAt, codeAt+0x1000, mem.Read|mem.Write|mem.Exec))
	m.poke(codeAt+0x10, addsOne)
	run := func(at emu.Addr) (blocks int) {
		before := len(m.all)
		m.cpu.RIP = at
		m.run(emu.StopSyscall)
		return len(m.all) - before
	}
	require.NotZero(t, run(codeAt))
	require.NotZero(t, run(codeAt+0x10))
	alone := run(codeAt)
	require.Zero(t, run(codeAt+0x10))
	require.Equal(t, alone, run(codeAt))
	n, _ := m.mem.ReadUint64(codeAt + 0x100)
	require.EqualValues(t, 3, n)
}

// TestMarkOnCodeThatComesBack sets a mark while the code is gone.
func TestMarkOnCodeThatComesBack(t *testing.T) {
	m := newMachine(t, addsOne)
	m.run(emu.StopSyscall)
	m.mem.Unmap(codeAt, codeAt+0x2000)
	m.SetMark(codeAt+4, true)
	m.remap(addsOne)
	m.run(emu.StopMark)
	require.Equal(t, codeAt+4, m.cpu.RIP)
}

// TestCanonical has addresses of both halves as they were.
func TestCanonical(t *testing.T) {
	for _, a := range []emu.Addr{0, 1, 0x401234, 0x7fff_ffff_ffff, 0xffff_8000_0000_0000, 0xffff_ffff_ff60_0400, 0xffff_ffff_ffff_ffff} {
		require.Equal(t, a, canonicalOf(a).addr())
	}
}
