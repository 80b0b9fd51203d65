package task

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// Bits of a page fault's error code (SDM Vol. 3, "Page-Fault Exceptions").
const (
	pfPresent = 1
	pfWrite   = 2
	pfUser    = 4
	pfFetch   = 16
)

// Fault turns a CPU exception into the signal that Linux makes of it (arch/x86/kernel/traps.c, mm/fault.c).
func (t *Thread) Fault(f emu.Fault) {
	if f.Vector == emu.VecPF && f.Exec && t.vsyscall(f.Addr) {
		return
	}
	if f.Vector == emu.VecPF && !f.Bus && t.Process.growStack(f.Addr) {
		return
	}
	s := &SigInfo{Fault: &f, rip: t.CPU.RIP}
	t.trapNo, t.errCode = uint64(f.Vector), 0
	addr := uint64(t.CPU.RIP)
	switch f.Vector {
	case emu.VecDE:
		s.Signo, s.Code = linux.SIGFPE, linux.FPE_INTDIV
	case emu.VecDB:
		s.Signo, s.Code = linux.SIGTRAP, linux.TRAP_TRACE
		if f.Int1 {
			s.Code = linux.TRAP_BRKPT
		}
	case emu.VecBP:
		s.Signo, s.Code, addr = linux.SIGTRAP, linux.SI_KERNEL, 0
	case emu.VecUD:
		s.Signo, s.Code = linux.SIGILL, linux.ILL_ILLOPN
		if f.Failure != "" {
			t.Kernel.reportFailure(f.Failure, t.CPU.RIP)
		}
		if f.Unsupported != "" {
			t.Kernel.reportRefused(f.Unsupported, t.CPU.RIP)
		}
	case emu.VecPF:
		t.pageFault(f, s)
		addr = uint64(f.Addr)
	case emu.VecMF:
		s.Signo, s.Code = linux.SIGFPE, fpCode(^uint32(linux.Uint16(t.CPU.FP[emu.XOffFCW:])), uint32(linux.Uint16(t.CPU.FP[emu.XOffFSW:])))
	case emu.VecXM:
		mxcsr := linux.Uint32(t.CPU.FP[emu.XOffMXCSR:])
		s.Signo, s.Code = linux.SIGFPE, fpCode(^(mxcsr>>7), mxcsr)
	case emu.VecAC:
		s.Signo, s.Code, addr = linux.SIGBUS, linux.BUS_ADRALN, 0
	default: // VecGP, VecOF, VecBR
		s.Signo, s.Code, addr = linux.SIGSEGV, linux.SI_KERNEL, 0
	}
	linux.PutUint64(s.Fields[:], addr)
	t.force(s)
}

// pageFault fills in s and the error code of the signal frame for a page fault.
func (t *Thread) pageFault(f emu.Fault, s *SigInfo) {
	t.cr2 = uint64(f.Addr)
	t.errCode = pfUser
	if f.Write {
		t.errCode |= pfWrite
	}
	if f.Exec {
		t.errCode |= pfFetch
	}
	s.Signo, s.Code = linux.SIGSEGV, linux.SEGV_MAPERR
	v := t.Process.Mem.VMA(f.Addr)
	switch {
	case f.Bus:
		s.Signo, s.Code = linux.SIGBUS, linux.BUS_ADRERR
	case v != nil:
		s.Code = linux.SEGV_ACCERR
		if v.Prot != 0 {
			t.errCode |= pfPresent
		}
	case f.Addr >= 1<<47:
		// In the kernel's half of the address space pages are present, but not for users.
		t.errCode |= pfPresent
	}
}

// fpCode is the si_code of the first exception in status that is unmasked (fpu__exception_code).
func fpCode(unmasked, status uint32) int32 {
	switch e := unmasked & status; {
	case e&0x01 != 0:
		return linux.FPE_FLTINV
	case e&0x04 != 0:
		return linux.FPE_FLTDIV
	case e&0x08 != 0:
		return linux.FPE_FLTOVF
	case e&0x12 != 0:
		return linux.FPE_FLTUND
	case e&0x20 != 0:
		return linux.FPE_FLTRES
	}
	return 0
}

// The vsyscall page: three calls at fixed addresses, for old static programs.
const (
	vsyscallTime   = 0xffffffffff600400
	vsyscallTOD    = 0xffffffffff600000
	vsyscallGetcpu = 0xffffffffff600800
)

// vsyscall emulates a call of the vsyscall page, which is a system call and a return; false if a is no entry there.
func (t *Thread) vsyscall(a emu.Addr) bool {
	c := t.CPU
	var nr uint64
	switch a {
	case vsyscallTOD:
		nr = nrGettimeofday
	case vsyscallTime:
		nr = nrTime
	case vsyscallGetcpu:
		nr = nrGetcpu
	default:
		return false
	}
	ret, e := t.In64(emu.Addr(c.Regs[emu.RSP]))
	if e != 0 {
		return false
	}
	t.Spend(VdsoPrice)
	x, e := t.Kernel.entry(nr).Handler(t, uio.Args{c.Regs[emu.RDI], c.Regs[emu.RSI], c.Regs[emu.RDX]})
	if e != 0 {
		x = e.Result()
	}
	c.Regs[emu.RAX] = x
	c.Regs[emu.RSP] += 8
	c.RIP = emu.Addr(ret)
	return true
}

// growStack extends the memory above a, if it was mapped with MAP_GROWSDOWN, down to a's page. The next mapping below
// must be far enough away (stack_guard_gap), and RLIMIT_STACK must allow it.
func (p *Process) growStack(a emu.Addr) bool {
	const guardGap = 256 * emu.PageSize
	if a < mem.MinAddr || a >= p.Mem.Limit() {
		return false
	}
	above := p.Mem.Within(a, p.Mem.Limit())
	if len(above) == 0 || !above[0].GrowsDown || above[0].Lo <= a {
		return false
	}
	v, lo := above[0], a.PageDown()
	if uint64(v.Hi-lo) > p.Limits[linux.RLIMIT_STACK].Cur {
		return false
	}
	for _, below := range p.Mem.Within(lo-min(lo, guardGap), lo) {
		if below.Prot != 0 && !below.GrowsDown {
			return false
		}
	}
	v.Lo, v.Hi = lo, v.Lo
	return p.MayMapOver(&v) && p.Mem.Map(v, nil) == nil
}
