//go:build linux && amd64

package jit

import (
	"fmt"
	"io"
	"runtime"
	"runtime/pprof"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
)

// Lookups of code that lies far apart: each finds a page of the table without entries first, and an entry later.
const (
	apartAt, apart, apartN = 0x20000000, 0x600, 200

	apartLoops = `
		ff d7                # loop: call rdi
		48 89 f8             # mov rax, rdi
		48 83 c0 10          # add rax, 16
		ff e0                # jmp rax, to where it jumps back to back
		48 01 df             # back: add rdi, rbx
		48 ff c9             # dec rcx
		75 ed                # jnz loop
		0f 05                # syscall`
)

// newApart makes a machine that runs them.
func newApart(t *testing.T, cfg emu.Config) *machine {
	m := newMachineWith(t, cfg, apartLoops)
	require.NoError(t, m.mem.Map(mem.VMA{Lo: apartAt, Hi: apartAt + apartN*apart, Prot: mem.Read | mem.Write | mem.Exec}, nil))
	for i := range emu.Addr(apartN) {
		m.poke(apartAt+i*apart, "48 ff c2 c3") // inc rdx; ret
		m.poke(apartAt+i*apart+16, "41 ff e0") // jmp r8
	}
	return m
}

// runApart jumps and calls to all of the code.
func (m *machine) runApart() {
	m.t.Helper()
	m.cpu.RIP, m.cpu.Regs[emu.RDX], m.cpu.Regs[emu.R8] = codeAt, 0, uint64(codeAt+11)
	m.cpu.Regs[emu.RDI], m.cpu.Regs[emu.RBX], m.cpu.Regs[emu.RCX] = apartAt, apart, apartN
	m.run(emu.StopSyscall)
	require.EqualValues(m.t, apartN, m.cpu.Regs[emu.RDX])
}

// TestEmptyPages counts what lookups of empty pages lead to.
func TestEmptyPages(t *testing.T) {
	for name, cfg := range map[string]emu.Config{"Ir": {}, "calls": {Function: sixteen}} {
		t.Run(name, func(t *testing.T) {
			m := newApart(t, cfg)
			for i := range 3 {
				m.runApart()
				require.EqualValues(t, (i+1)*(10*apartN+1), m.Executed(), fmt.Sprint("run ", i))
				if i == 1 { // all is to be learnt anew
					m.flush()
				}
			}
			page, entry := m.table.page(apartAt)
			require.NotEqual(t, m.table.miss, page[entry])
			require.Equal(t, m.table.miss, page[entry+1])
			page, _ = m.table.page(apartAt + 0x200)
			require.Zero(t, page[0])
		})
	}
}

// TestProfiledLookups takes samples of the thread that runs a guest, as go test -cpuprofile does, while lookups of
// empty pages lead the host to address 0. Go takes a thread there for one that called a nil function, and reads what
// RSP points to.
func TestProfiledLookups(t *testing.T) {
	if pprof.StartCPUProfile(io.Discard) == nil { // else go test has begun one
		defer pprof.StopCPUProfile()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	thread, done := unix.Gettid(), make(chan bool)
	var sampling sync.WaitGroup
	sampling.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				_ = unix.Tgkill(unix.Getpid(), thread, unix.SIGPROF)
			}
		}
	})
	defer sampling.Wait()
	defer close(done)
	for _, cfg := range []emu.Config{{}, {Function: sixteen}} {
		m := newApart(t, cfg)
		for range 10 {
			m.runApart()
			m.table.reset()
		}
	}
	var now sigaction
	require.NoError(t, rtSigaction(unix.SIGPROF, nil, &now))
	require.Equal(t, sigHandlerPC(), now.handler, "the profile has put Go's handler in its place")
}

// TestUnfilled tells jumps to 0 apart: lookups have the table's address in a register. Where the shadow stack lies low,
// what takes RSP there may be taken for code's address.
func TestUnfilled(t *testing.T) {
	const pushed = 2
	for name, tt := range map[string]struct {
		rip, table, target uint64 // pushed: where calls go on whose frame is there
		lookup, called     bool   // unless calls are recorded, and if they are
	}{
		"a lookup":          {0, 1, 0x1000, true, true},
		"a call's":          {pushed, pushed, 0x1000, false, true},
		"an indirect one's": {calledAt, calledAt, 0x1000, false, true},
		"RET":               {0, 0, 0x1000, false, false},
		"RET, shadow above": {0, 1, uint64(maxCode), false, false},
		"RET to elsewhere":  {pushed, 1, 0x1000, false, false},
		"another fault":     {0x400000, 1, 0x1000, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			for calls, want := range map[bool]bool{false: tt.lookup, true: tt.called} {
				cfg := emu.Config{}
				if calls {
					cfg.Function = sixteen
				}
				m := newMachineWith(t, cfg, "0f 05")
				at := func(x uint64) uint64 {
					switch {
					case x == 1:
						return uint64(m.table.base)
					case x == pushed && calls:
						return uint64(m.calls.receivedSize())
					}
					return x
				}
				m.set(stSigRIP, at(tt.rip))
				m.set(stRegs+8*int(regTable), at(tt.table))
				m.set(stRegs+8*int(regTarget), tt.target)
				require.Equal(t, want, m.unfilled(), "calls: %v", calls)
			}
		})
	}
}
