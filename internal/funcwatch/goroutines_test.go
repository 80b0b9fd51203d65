package funcwatch

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
)

// TestGoReturns has goroutines return from functions: in other threads and on other stacks than they entered them.
func TestGoReturns(t *testing.T) {
	s := newScene(t)
	other := emu.NewCPU()
	const ret, sp = 0x5000, mainStack + 0x8000
	var log []string
	enter := func(cpu *emu.CPU, g uint64, sp emu.Addr, name string) bool {
		require.True(t, s.w.space.WriteUint64(sp, ret))
		cpu.RIP, cpu.Regs[emu.RSP], cpu.Regs[emu.R14] = 0x1000, uint64(sp), g
		return (&Entry{CPU: cpu, w: s.w}).OnReturn(func() { log = append(log, name) })
	}
	land := func(cpu *emu.CPU, g uint64, sp emu.Addr) {
		cpu.RIP, cpu.Regs[emu.RSP], cpu.Regs[emu.R14] = ret, uint64(sp), g
		s.w.Reached(cpu)
	}
	require.True(t, enter(s.cpu, 1, sp, "one"))
	require.False(t, enter(s.cpu, 1, sp, "one again"), "a thread that was interrupted in front of the function")
	require.True(t, enter(s.cpu, 2, sp+0x100, "two"))
	require.True(t, s.eng.marks[ret])
	land(s.cpu, 3, sp)
	require.Empty(t, log)
	land(other, 1, altStack+0x100)
	require.Equal(t, []string{"one"}, log)
	land(other, 1, altStack+0x100)
	require.Equal(t, []string{"one"}, log)

	// A goroutine that ends does not come back; a later one may have its descriptor.
	end := Entry{CPU: s.cpu, w: s.w}
	s.cpu.Regs[emu.R14] = 2
	end.ForgetReturns()
	land(s.cpu, 2, sp+0x100)
	require.Equal(t, []string{"one"}, log)
	require.True(t, enter(s.cpu, 2, sp+0x100, "three"))
	require.True(t, enter(s.cpu, 2, sp, "four"))
	land(s.cpu, 2, sp+8)
	land(s.cpu, 2, sp+0x108)
	require.Equal(t, []string{"one", "four", "three"}, log)

	// The mark goes when nobody is expected any more, but not at once.
	for range maxIdle + 1 {
		require.True(t, s.eng.marks[ret])
		land(s.cpu, 9, sp)
	}
	require.False(t, s.eng.marks[ret])
}
