//go:build linux && amd64

package jit

import (
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/cgemu/cgemu/emu"
)

// signalStackOf returns where this thread's signal stack begins and ends.
func signalStackOf(t *testing.T) (lo, hi uint64) {
	var st signalStack
	_, _, e := unix.RawSyscall(unix.SYS_SIGALTSTACK, 0, uintptr(unsafe.Pointer(&st)), 0)
	require.Zero(t, e)
	return uint64(st.sp), uint64(st.sp + st.size)
}

// TestWithoutFSGSBASE has the kernel set the GS base, for two machines by turns and on several threads.
func TestWithoutFSGSBASE(t *testing.T) {
	defer func(had bool) { hasFSGSBASE = had }(hasFSGSBASE)
	hasFSGSBASE, lastThread = false, hostThread{} // what WRGSBASE set before is not noted
	const code = `
		89 07        # mov [rdi], eax
		03 07        # add eax, [rdi]
		0f 05        # syscall
	`
	machines := [2]*machine{newMachine(t, code), newMachine(t, code)}
	run := func(m *machine, x uint64) uint64 {
		m.cpu.RIP, m.cpu.Regs[emu.RAX], m.cpu.Regs[emu.RDI] = codeAt, x, uint64(dataAt)
		m.Run(m.cpu, emu.NoBudget)
		return m.cpu.Regs[emu.RAX]
	}
	for i := range uint64(20) {
		results := make(chan uint64)
		go func() { // another thread, often: this one is locked
			results <- run(machines[i%2], i)
		}()
		runtime.LockOSThread()
		require.Equal(t, 2*i, <-results)
		require.Equal(t, 2*i+2, run(machines[0], i+1))
		require.Equal(t, 2*i+4, run(machines[1], i+2))
		runtime.UnlockOSThread()
	}
}
