package syscalls

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// handle installs a handler at address h.
func (g *guest) handle(sig int, h, flags uint64, mask task.SigSet) {
	var b linux.Pack
	b.U64(h)
	b.U64(flags | linux.SA_RESTORER)
	b.U64(0x7000)
	b.U64(uint64(mask))
	g.ok(nr("rt_sigaction"), uint64(sig), g.bytes(b), 0, 8)
}

// onStack gives the guest's registers values, with RSP in the heap.
func (g *guest) onStack() {
	c := g.th.CPU
	for i := range c.Regs {
		c.Regs[i] = uint64(0x1000 + i)
	}
	c.Regs[emu.RSP] = uint64(g.heap) + 0x80000 + 8
	c.RIP = 0x400000
}

// TestSignalFrame checks the frame against arch/x86/include/uapi/asm/sigcontext.h and the way back.
func TestSignalFrame(t *testing.T) {
	g := newGuest(t)
	g.handle(linux.SIGUSR1, 0x5000, linux.SA_SIGINFO, task.SigsOf(linux.SIGUSR2))
	g.onStack()
	c := g.th.CPU
	c.Flags |= emu.FlagDF | emu.FlagCF
	c.FP[emu.XOffXMM+5] = 0x77
	c.FP[emu.XOffYMMH+9] = 0x99
	linux.PutUint32(c.FP[emu.XOffMXCSR:], 0x3fa0)
	before := emu.NewCPU()
	before.Copy(c)
	sp := c.Regs[emu.RSP]
	g.th.Send(task.InfoFromProcess(g.p, linux.SIGUSR1, linux.SI_USER))
	g.th.ReturnToUser()

	assert.EqualValues(t, 0x5000, c.RIP)
	assert.EqualValues(t, linux.SIGUSR1, c.Regs[emu.RDI])
	assert.Zero(t, c.Regs[emu.RAX])
	assert.Zero(t, c.Flags&emu.FlagDF)
	frame := c.Regs[emu.RSP]
	assert.EqualValues(t, 8, frame%16, "as after a call")
	assert.Equal(t, frame+task.FrameInfo, c.Regs[emu.RSI])
	assert.Equal(t, frame+task.FrameUC, c.Regs[emu.RDX])
	assert.EqualValues(t, 0x7000, g.peek64(frame))
	assert.Less(t, frame, sp-task.RedZone-832-4-440)
	assert.Equal(t, task.SigsOf(linux.SIGUSR1, linux.SIGUSR2), g.th.Mask)
	assert.EqualValues(t, 0x1f80, linux.Uint32(c.FP[emu.XOffMXCSR:]))

	uc := frame + 8
	assert.EqualValues(t, 7, g.peek64(uc))
	assert.EqualValues(t, 0x1008, g.peek64(uc+40), "r8")
	assert.EqualValues(t, 0x1007, g.peek64(uc+40+64), "rdi")
	assert.EqualValues(t, sp, g.peek64(uc+40+15*8), "rsp")
	assert.EqualValues(t, 0x400000, g.peek64(uc+40+16*8), "rip")
	assert.EqualValues(t, 0x002b000000000033, g.peek64(uc+40+18*8), "cs, gs, fs, ss")
	fp := g.peek64(uc + 40 + 23*8)
	assert.Zero(t, fp%64)
	assert.EqualValues(t, task.FpMagic1, g.peek32(fp+464))
	assert.EqualValues(t, 836, g.peek32(fp+468))
	assert.EqualValues(t, 7, g.peek64(fp+472))
	assert.EqualValues(t, 832, g.peek32(fp+480))
	assert.EqualValues(t, task.FpMagic2, g.peek32(fp+832))
	assert.Zero(t, g.peek64(uc+296), "uc_sigmask")
	assert.EqualValues(t, linux.SIGUSR1, g.peek32(frame+task.FrameInfo))
	assert.EqualValues(t, task.DefaultPID, g.peek32(frame+task.FrameInfo+16))
	assert.EqualValues(t, task.DefaultUID, g.peek32(frame+task.FrameInfo+20))

	// The handler returns: the restorer's address is popped.
	c.Regs[emu.RSP] += 8
	for i := range c.Regs {
		if i != emu.RSP {
			c.Regs[i] = 0
		}
	}
	c.Flags |= emu.FlagZF
	_, e := sysRtSigreturn(g.th, uio.Args{})
	require.Equal(t, task.ENoReturn, e)
	assert.Equal(t, before.Regs, c.Regs)
	assert.Equal(t, before.RIP, c.RIP)
	assert.Equal(t, before.Flags, c.Flags)
	assert.Equal(t, before.FP[:464], c.FP[:464])
	assert.Equal(t, before.FP[512:], c.FP[512:])
	assert.Zero(t, g.th.Mask)
}

// TestWideSignalFrame has a CPU with AVX-512: the frame has XSAVE's area as Intel's CPUs lay it out.
func TestWideSignalFrame(t *testing.T) {
	g := newGuest(t)
	g.handle(linux.SIGUSR1, 0x5000, linux.SA_SIGINFO, 0)
	g.onStack()
	c := g.th.CPU
	c.FP.SetComponents(emu.XFeatures | emu.XAVX512)
	c.FP[emu.XOffOpmask+8], c.FP[emu.XOffZMMH+33], c.FP[emu.XOffHiZMM+66] = 1, 2, 3
	before := emu.NewCPU()
	before.Copy(c)
	g.th.Send(task.InfoFromProcess(g.p, linux.SIGUSR1, linux.SI_USER))
	g.th.ReturnToUser()

	frame := c.Regs[emu.RSP]
	fp := g.peek64(frame + task.FrameContext + 184)
	assert.Zero(t, fp%64)
	assert.EqualValues(t, 2688+4, g.peek64(fp+464)>>32, "extended size")
	assert.EqualValues(t, 0xe7, g.peek64(fp+472), "components")
	assert.EqualValues(t, 2688, uint32(g.peek64(fp+480)), "size")
	assert.EqualValues(t, task.FpMagic2, uint32(g.peek64(fp+2688)))
	assert.EqualValues(t, 1, g.peek64(fp+1088+8), "k1")
	assert.EqualValues(t, 2<<8, g.peek64(fp+1152+32), "zmm1's upper half")
	assert.EqualValues(t, 3<<16, g.peek64(fp+1664+64), "zmm17")
	assert.EqualValues(t, 0xe7, c.FP.Components())
	assert.Zero(t, c.FP[emu.XOffHiZMM+66], "a handler begins with the initial state")
	c.Regs[emu.RSP] += 8
	_, e := sysRtSigreturn(g.th, uio.Args{})
	require.Equal(t, task.ENoReturn, e)
	assert.Equal(t, before.FP[512:], c.FP[512:])
}

func TestFaultSignals(t *testing.T) {
	const ro, none = 0x30000000, 0x30001000
	for _, tt := range []struct {
		name       string
		f          emu.Fault
		sig, code  int
		addr       uint64
		trap, errc uint64
	}{
		{"null", emu.Fault{Vector: emu.VecPF, Addr: 8, Write: true}, linux.SIGSEGV, linux.SEGV_MAPERR, 8, 14, 6},
		{"readonly", emu.Fault{Vector: emu.VecPF, Addr: ro, Write: true}, linux.SIGSEGV, linux.SEGV_ACCERR, ro, 14, 7},
		{"none", emu.Fault{Vector: emu.VecPF, Addr: none}, linux.SIGSEGV, linux.SEGV_ACCERR, none, 14, 4},
		{"noexec", emu.Fault{Vector: emu.VecPF, Addr: ro, Exec: true}, linux.SIGSEGV, linux.SEGV_ACCERR, ro, 14, 21},
		{"bus", emu.Fault{Vector: emu.VecPF, Addr: ro, Bus: true}, linux.SIGBUS, linux.BUS_ADRERR, ro, 14, 4},
		{"gp", emu.Fault{Vector: emu.VecGP}, linux.SIGSEGV, linux.SI_KERNEL, 0, 13, 0},
		{"divide", emu.Fault{Vector: emu.VecDE}, linux.SIGFPE, linux.FPE_INTDIV, 0x400000, 0, 0},
		{"undefined", emu.Fault{Vector: emu.VecUD}, linux.SIGILL, linux.ILL_ILLOPN, 0x400000, 6, 0},
		{"int3", emu.Fault{Vector: emu.VecBP}, linux.SIGTRAP, linux.SI_KERNEL, 0, 3, 0},
		{"int1", emu.Fault{Vector: emu.VecDB, Int1: true}, linux.SIGTRAP, linux.TRAP_BRKPT, 0x400000, 1, 0},
		{"step", emu.Fault{Vector: emu.VecDB}, linux.SIGTRAP, linux.TRAP_TRACE, 0x400000, 1, 0},
		{"align", emu.Fault{Vector: emu.VecAC}, linux.SIGBUS, linux.BUS_ADRALN, 0, 17, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newGuest(t)
			require.NoError(t, g.p.Mem.Map(mem.VMA{Lo: ro, Hi: ro + 4096, Prot: mem.Read}, nil))
			require.NoError(t, g.p.Mem.Map(mem.VMA{Lo: none, Hi: none + 4096}, nil))
			g.handle(tt.sig, 0x5000, linux.SA_SIGINFO, 0)
			g.onStack()
			g.th.Fault(tt.f)
			g.th.ReturnToUser()
			frame := g.th.CPU.Regs[emu.RSP]
			assert.EqualValues(t, tt.sig, g.peek32(frame+task.FrameInfo))
			assert.EqualValues(t, tt.code, g.peek32(frame+task.FrameInfo+8))
			assert.EqualValues(t, tt.addr, g.peek64(frame+task.FrameInfo+16))
			assert.EqualValues(t, tt.errc, g.peek64(frame+task.FrameContext+19*8))
			assert.EqualValues(t, tt.trap, g.peek64(frame+task.FrameContext+20*8))
		})
	}
}

// TestFatalSignals checks how a run ends that a signal ends.
func TestFatalSignals(t *testing.T) {
	for _, tt := range []struct {
		name  string
		setup func(g *guest)
		sig   int
	}{
		{"default", func(*guest) {}, linux.SIGSEGV},
		{"ignored", func(g *guest) { g.handle(linux.SIGSEGV, linux.SIG_IGN, 0, 0) }, linux.SIGSEGV},
		{"blocked", func(g *guest) { g.handle(linux.SIGSEGV, 0x5000, 0, 0); g.th.Mask = task.SigsOf(linux.SIGSEGV) }, linux.SIGSEGV},
		{"no stack", func(g *guest) { g.handle(linux.SIGSEGV, 0x5000, 0, 0); g.th.CPU.Regs[emu.RSP] = 8 }, linux.SIGSEGV},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newGuest(t)
			g.onStack()
			tt.setup(g)
			g.eng.step = func(*emu.CPU, uint64) emu.Stop {
				return emu.Stop{Reason: emu.StopFault, Fault: &emu.Fault{Vector: emu.VecPF, Addr: 16}}
			}
			e := g.run()
			assert.Equal(t, tt.sig, e.Signal)
			assert.Equal(t, 128+tt.sig, e.Status())
		})
	}
}

// TestRestart checks what becomes of a read that a signal interrupts.
func TestRestart(t *testing.T) {
	for _, tt := range []struct {
		flags   uint64
		restart bool
	}{{0, false}, {linux.SA_RESTART, true}} {
		g := newGuest(t)
		g.handle(linux.SIGALRM, 0x5000, tt.flags, 0)
		fds := g.room(8)
		g.ok(nr("pipe"), fds)
		g.ok(nr("alarm"), 1)
		g.onStack()
		calls := 0
		g.eng.step = func(c *emu.CPU, _ uint64) emu.Stop {
			if calls++; calls > 1 {
				g.k.Canceled.Store(true)
				return emu.Stop{Reason: emu.StopInterrupt}
			}
			g.load(c, nr("read"), uint64(g.peek32(fds)), fds, 1)
			return emu.Stop{Reason: emu.StopSyscall}
		}
		g.run()
		frame := g.th.CPU.Regs[emu.RSP]
		rip, rax := g.peek64(frame+task.FrameContext+16*8), g.peek64(frame+task.FrameContext+13*8)
		if tt.restart {
			assert.EqualValues(t, 0x400000, rip)
			assert.EqualValues(t, nr("read"), rax)
		} else {
			assert.EqualValues(t, 0x400002, rip)
			assert.EqualValues(t, linux.EINTR, result(rax).err())
		}
	}
}

func TestDeadlock(t *testing.T) {
	g := newGuest(t)
	fds := g.room(8)
	g.ok(nr("pipe"), fds)
	g.eng.step = func(c *emu.CPU, _ uint64) emu.Stop {
		g.load(c, nr("read"), uint64(g.peek32(fds)), fds, 1)
		return emu.Stop{Reason: emu.StopSyscall}
	}
	e := g.run()
	assert.True(t, e.Deadlock)
	assert.Equal(t, linux.SIGKILL, e.Signal)
}
