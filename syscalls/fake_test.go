package syscalls

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
)

// A fakeEngine runs no code: it stops as a script says. Each script is a
// goroutine that plays a thread of the guest: it makes calls and sees results.
type fakeEngine struct {
	mem      *mem.Space
	env      emu.Env
	step     func(c *emu.CPU, budget uint64) emu.Stop
	executed uint64
	invalid  []emu.Addr
	first    *fakeEngine // that of the first process plays for all
}

func (e *fakeEngine) Run(c *emu.CPU, budget uint64) emu.Stop {
	if e.first != nil {
		return e.first.step(c, budget)
	}
	return e.step(c, budget)
}

func (e *fakeEngine) Invalidate(lo, hi emu.Addr) { e.invalid = append(e.invalid, lo) }

func (e *fakeEngine) Interrupt() {}

func (e *fakeEngine) Executed() uint64 { return e.executed }

func (e *fakeEngine) SetCounting(emu.Counting) {}

func (e *fakeEngine) SetMark(emu.Addr, bool) {}

func (e *fakeEngine) Collect(emu.Addr, emu.Addr, func(emu.Addr, emu.Event, uint64)) {}

func (e *fakeEngine) Close() error { return nil }

// A guest is a kernel whose program is the test.
type guest struct {
	t   *testing.T
	k   *task.Kernel
	p   *task.Process
	th  *task.Thread
	eng *fakeEngine
	dir string
	out *os.File
	// heap is where the test puts things: 1 MiB.
	heap emu.Addr
	used emu.Addr
}

// newGuest makes a kernel with an empty directory, which is its working directory.
func newGuest(t *testing.T, change ...func(*Config)) *guest {
	t.Helper()
	dir := t.TempDir()
	prog := filepath.Join(dir, "prog")
	require.NoError(t, os.WriteFile(prog, tinyELF(), 0o755))
	in, err := os.Open(os.DevNull)
	require.NoError(t, err)
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	g := &guest{t: t, dir: dir, out: out}
	cfg := Config{KernelConfig: KernelConfig{
		NewEngine: func(m *mem.Space, env emu.Env) (emu.Engine, error) {
			g.eng = &fakeEngine{mem: m, env: env}
			return g.eng, nil
		},
		ForkEngine: func(_ int, _ emu.Engine, m *mem.Space, env emu.Env) (emu.Engine, error) {
			return &fakeEngine{mem: m, env: env, first: g.eng}, nil
		},
		Log: io.Discard,
	}, Path: prog, Args: []string{"prog"}, Files: FileConfig{Dir: dir, Stdin: in, Stdout: out, Stderr: out, HostStdio: true, HostEtc: true}}
	for _, c := range change {
		c(&cfg)
	}
	sys, err := New(cfg)
	require.NoError(t, err)
	k := sys.k
	require.NoError(t, os.Remove(prog))
	t.Cleanup(func() { k.Close(); in.Close(); out.Close() })
	g.k, g.p = k, k.Processes[0]
	g.th = g.p.Threads[0]
	g.heap = 0x20000000
	require.NoError(t, g.p.Mem.Map(mem.VMA{Lo: g.heap, Hi: g.heap + 1<<20, Prot: mem.Read | mem.Write}, nil))
	return g
}

// tinyELF is a static program: one segment, whose code is HLT.
func tinyELF() []byte {
	var b linux.Pack
	b = append(b, 0x7f, 'E', 'L', 'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	b.U16(2)
	b.U16(62)
	b.U32(1)
	b.U64(0x400078)
	b.U64(64)
	b.Zero(8 + 4)
	b.U16(64)
	b.U16(56)
	b.U16(1)
	b.Zero(6)
	b.U32(1)
	b.U32(5)
	b.U64(0)
	b.U64(0x400000)
	b.U64(0x400000)
	b.U64(121)
	b.U64(121)
	b.U64(4096)
	return append(b, 0xf4)
}

// str puts s and a zero into guest memory.
func (g *guest) str(s string) uint64 { return g.bytes(append([]byte(s), 0)) }

// bytes puts b into guest memory, on a boundary of 16.
func (g *guest) bytes(b []byte) uint64 {
	a := g.heap + g.used
	require.Equal(g.t, len(b), g.p.Mem.Write(a, b))
	g.used += emu.Addr(len(b)+15) &^ 15
	return uint64(a)
}

// room makes n zero bytes.
func (g *guest) room(n int) uint64 { return g.bytes(make([]byte, n)) }

// peek reads n bytes.
func (g *guest) peek(a uint64, n int) []byte {
	b := make([]byte, n)
	require.Equal(g.t, n, g.p.Mem.Read(emu.Addr(a), b))
	return b
}

func (g *guest) peek64(a uint64) uint64 { return linux.Uint64(g.peek(a, 8)) }

func (g *guest) peek32(a uint64) uint32 { return linux.Uint32(g.peek(a, 4)) }

// A result is what a call leaves in RAX.
type result uint64

// err is the Errno of a result, 0 for success.
func (r result) err() linux.Errno {
	if r > 1<<64-4096 {
		return linux.Errno(-r)
	}
	return 0
}

// call makes a system call from g's thread: the kernel runs until that
// thread is back in the program.
func (g *guest) call(nr uint64, args ...uint64) result {
	g.t.Helper()
	c := g.th.CPU
	made := false
	g.eng.step = func(cpu *emu.CPU, _ uint64) emu.Stop {
		if cpu != c {
			return emu.Stop{Reason: emu.StopBudget}
		}
		if made {
			g.k.Canceled.Store(true)
			return emu.Stop{Reason: emu.StopInterrupt}
		}
		made = true
		g.load(cpu, nr, args...)
		return emu.Stop{Reason: emu.StopSyscall}
	}
	g.run()
	return result(c.Regs[emu.RAX])
}

// load puts a call into registers, as after SYSCALL.
func (g *guest) load(c *emu.CPU, nr uint64, args ...uint64) {
	c.Regs[emu.RAX] = nr
	for i, r := range []int{emu.RDI, emu.RSI, emu.RDX, emu.R10, emu.R8, emu.R9} {
		c.Regs[r] = 0
		if i < len(args) {
			c.Regs[r] = args[i]
		}
	}
	c.RIP += 2
}

// run runs the kernel until it is interrupted, and makes it ready to run again.
func (g *guest) run() task.Exit {
	g.k.Canceled.Store(false)
	e, err := g.k.Run(context.Background())
	require.NoError(g.t, err)
	if e.Interrupted {
		g.k.Exit = nil
	}
	return e
}

// ok makes a call that must succeed.
func (g *guest) ok(nr uint64, args ...uint64) uint64 {
	g.t.Helper()
	r := g.call(nr, args...)
	require.Zero(g.t, r.err(), "%s: %v", g.k.CallName(nr), r.err())
	return uint64(r)
}

// fails makes a call that must fail with e.
func (g *guest) fails(e linux.Errno, nr uint64, args ...uint64) {
	g.t.Helper()
	r := g.call(nr, args...)
	require.Equal(g.t, e.String(), r.err().String(), g.k.CallName(nr))
}

// nr is the number of a call.
func nr(name string) uint64 {
	for n := range table {
		if table[n].Name == name {
			return uint64(n)
		}
	}
	panic("no system call " + name)
}

const cwd = 1<<64 - 100 // AT_FDCWD

// NewThread adds a thread to p that has no files yet.
func newThread(p *task.Process) *task.Thread {
	t := p.NewThread(emu.NewCPU())
	t.Files = files.New()
	return t
}
