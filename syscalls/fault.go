package syscalls

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// Bits of a page fault's error code (SDM Vol. 3, "Page-Fault Exceptions").
const (
	pfPresent = 1
	pfWrite   = 2
	pfUser    = 4
	pfFetch   = 16
)

// fault turns an exception into the signal that Linux makes of it (arch/x86/kernel/traps.c, mm/fault.c).
func (t *Thread) fault(f emu.Fault) {
	if f.Vector == emu.VecPF && f.Exec && t.vsyscall(f.Addr) {
		return
	}
	if f.Vector == emu.VecPF && !f.Bus && t.p.growStack(f.Addr) {
		return
	}
	s := &sigInfo{fault: &f, rip: t.cpu.RIP}
	t.trapNo, t.errCode = uint64(f.Vector), 0
	addr := uint64(t.cpu.RIP)
	switch f.Vector {
	case emu.VecDE:
		s.signo, s.code = linux.SIGFPE, linux.FPE_INTDIV
	case emu.VecDB:
		s.signo, s.code = linux.SIGTRAP, linux.TRAP_TRACE
	case emu.VecBP:
		s.signo, s.code, addr = linux.SIGTRAP, linux.SI_KERNEL, 0
	case emu.VecUD:
		s.signo, s.code = linux.SIGILL, linux.ILL_ILLOPN
		if f.Unsupported != "" {
			t.k.logf("%s at %v is not supported; the program gets SIGILL", f.Unsupported, t.cpu.RIP)
		}
	case emu.VecPF:
		t.pageFault(f, s)
		addr = uint64(f.Addr)
	case emu.VecMF:
		s.signo, s.code = linux.SIGFPE, fpCode(^uint32(le16(t.cpu.FP[emu.XOffFCW:])), uint32(le16(t.cpu.FP[emu.XOffFSW:])))
	case emu.VecXM:
		mxcsr := le32(t.cpu.FP[emu.XOffMXCSR:])
		s.signo, s.code = linux.SIGFPE, fpCode(^(mxcsr>>7), mxcsr)
	case emu.VecAC:
		s.signo, s.code, addr = linux.SIGBUS, linux.BUS_ADRALN, 0
	default: // VecGP, VecOF, VecBR
		s.signo, s.code, addr = linux.SIGSEGV, linux.SI_KERNEL, 0
	}
	put64(s.fields[:], addr)
	t.force(s)
}

// pageFault fills s and the frame's error code for a page fault.
func (t *Thread) pageFault(f emu.Fault, s *sigInfo) {
	t.cr2 = uint64(f.Addr)
	t.errCode = pfUser
	if f.Write {
		t.errCode |= pfWrite
	}
	if f.Exec {
		t.errCode |= pfFetch
	}
	s.signo, s.code = linux.SIGSEGV, linux.SEGV_MAPERR
	v := t.p.mem.VMA(f.Addr)
	switch {
	case f.Bus:
		s.signo, s.code = linux.SIGBUS, linux.BUS_ADRERR
	case v != nil:
		s.code = linux.SEGV_ACCERR
		if v.Prot != 0 {
			t.errCode |= pfPresent
		}
	case f.Addr >= 1<<47:
		// The kernel's half of the address space: its pages are there, but not for us.
		t.errCode |= pfPresent
	}
}

// fpCode is the si_code for the first exception in status that unmasked allows
// (fpu__exception_code).
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

// vsyscall emulates a call of the vsyscall page: a system call and a return.
func (t *Thread) vsyscall(a emu.Addr) bool {
	c := t.cpu
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
	ret, e := t.in64(emu.Addr(c.Regs[emu.RSP]))
	if e != 0 {
		return false
	}
	t.spend(vdsoPrice)
	x, e := t.k.entry(nr).handler(t, Args{c.Regs[emu.RDI], c.Regs[emu.RSI], c.Regs[emu.RDX]})
	if e != 0 {
		x = e.Result()
	}
	c.Regs[emu.RAX] = x
	c.Regs[emu.RSP] += 8
	c.RIP = emu.Addr(ret)
	return true
}
