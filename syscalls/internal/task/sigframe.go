package task

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// The signal frame, as arch/x86/kernel/signal_64.c writes it, upwards from RSP:
//
//	0    return address: the action's restorer
//	8    struct ucontext: flags, link, stack_t, sigcontext (256), mask
//	312  siginfo_t (128)
//
// and above, on 64 bytes, the XSAVE area followed by FP_XSTATE_MAGIC2. Under --compat=valgrind the
// frame is as large as Valgrind's, so that handlers use the same addresses.
const (
	FrameUC      = 8
	FrameStack   = FrameUC + 16
	FrameContext = FrameUC + 40
	FrameMask    = FrameContext + 256
	FrameInfo    = FrameMask + 8
	FrameSize    = FrameInfo + 128

	// RedZone is how much below RSP belongs to the interrupted function (psABI, "The Stack Frame").
	RedZone = 128

	// valgrindFrame is the size of Valgrind 3.19's frame, which also holds its own copy of the CPU
	// (coregrind/m_sigframe/sigframe-amd64-linux.c). The parts above are where they are in Linux's, and
	// the FP state follows them.
	valgrindFrame = 3768

	FpMagic1     = 0x46505853 // FP_XSTATE_MAGIC1
	FpMagic2     = 0x46505845
	fpSwReserved = 464 // offset of struct _fpx_sw_bytes in the FXSAVE image
	fpMagic2Size = 4

	// ucFlags: UC_FP_XSTATE, UC_SIGCONTEXT_SS, UC_STRICT_RESTORE_SS.
	ucFlags = 1 | 2 | 4

	UserCS = 0x33
	userSS = 0x2b
)

// ContextRegs is the order of the registers in struct sigcontext.
var ContextRegs = [...]int{
	emu.R8, emu.R9, emu.R10, emu.R11, emu.R12, emu.R13, emu.R14, emu.R15,
	emu.RDI, emu.RSI, emu.RBP, emu.RBX, emu.RDX, emu.RAX, emu.RCX, emu.RSP,
}

// callHandler makes t enter the handler of act for s.
func (t *Thread) callHandler(s *SigInfo, act SigAction) {
	sig := int(s.Signo)
	sp := t.CPU.Regs[emu.RSP]
	onAlt := t.Altstack.contains(sp)
	top := sp - RedZone
	if act.Flags&linux.SA_ONSTACK != 0 && !onAlt && t.Altstack.size > 0 {
		top = t.Altstack.sp + t.Altstack.size
		onAlt = true
	}
	fp := (top - uint64(emu.XAreaSize(t.CPU.FP.Components())) - fpMagic2Size) &^ 63
	frame := (fp-FrameSize)&^15 - 8
	if t.Kernel.Config.Compat {
		frame = (top-valgrindFrame)&^15 - 8
		fp = frame + FrameSize
	}
	// "If we are on the alternate signal stack and would overflow it, don't."
	overflow := onAlt && !within(frame, t.Altstack.sp, t.Altstack.size)
	if overflow || !t.writeFrame(frame, fp, s, act) {
		t.ForceSegv(sig)
		return
	}
	c := t.CPU
	c.Regs[emu.RSP] = frame
	c.Regs[emu.RDI] = uint64(sig)
	c.Regs[emu.RSI] = frame + FrameInfo
	c.Regs[emu.RDX] = frame + FrameUC
	c.Regs[emu.RAX] = 0
	c.RIP = emu.Addr(act.Handler)
	c.Flags &^= emu.FlagDF | emu.FlagTF
	c.FP.Reset()
	t.Mask |= act.Mask
	if act.Flags&linux.SA_NODEFER == 0 {
		t.Mask |= SigBit(sig)
	}
	t.OldMask = nil
	t.handler(true)
	if t.Altstack.flags&linux.SS_AUTODISARM != 0 {
		t.Altstack = altStack{flags: linux.SS_DISABLE}
	}
}

// handler tells whom it concerns that a signal handler begins or has returned.
func (t *Thread) handler(begins bool) {
	if told := t.Kernel.Config.OnHandler; told != nil {
		told(t.Process.Engine, t.CPU, begins)
	}
}

// HandlerReturned tells whom it concerns that t goes on where a signal handler interrupted it.
func (t *Thread) HandlerReturned() { t.handler(false) }

func within(a, base, size uint64) bool { return a >= base && a-base < size }

// writeFrame writes a signal frame, and the FP state at fp. It reports false if that memory cannot be written.
func (t *Thread) writeFrame(frame, fp uint64, s *SigInfo, act SigAction) bool {
	c := t.CPU
	b := make(linux.Pack, 0, FrameSize)
	b.U64(act.Restorer)
	b.U64(ucFlags)
	b.U64(0) // uc_link
	b = append(b, t.Altstack.Encode(c.Regs[emu.RSP])...)
	linux.PutUint32(b[FrameStack+8:], t.Altstack.flags)
	for _, r := range ContextRegs {
		b.U64(c.Regs[r])
	}
	b.U64(uint64(c.RIP))
	b.U64(c.Flags)
	b.U16(UserCS)
	b.U16(0) // gs
	b.U16(0) // fs
	b.U16(userSS)
	b.U64(t.errCode)
	b.U64(t.trapNo)
	mask := t.Mask
	if t.OldMask != nil {
		mask = *t.OldMask
	}
	b.U64(uint64(mask)) // oldmask
	b.U64(t.cr2)
	b.U64(fp)
	b.Zero(64)
	b.U64(uint64(mask))
	b = append(b, s.encode()...)

	x := c.FP.Area()
	sw, size := x[fpSwReserved:], uint32(len(x))
	linux.PutUint32(sw, FpMagic1)
	linux.PutUint32(sw[4:], size+fpMagic2Size)
	linux.PutUint64(sw[8:], c.FP.Components())
	linux.PutUint32(sw[16:], size)
	x = append(x, make([]byte, fpMagic2Size)...)
	linux.PutUint32(x[size:], FpMagic2)
	return t.CopyOut(emu.Addr(fp), x) == 0 && t.CopyOut(emu.Addr(frame), b) == 0
}

// RestoreFP loads the FP state at fp of a signal frame, as XRSTOR or FXRSTOR does, and reports false where these raise
// an exception. 0 stands for the initial state.
func (t *Thread) RestoreFP(fp uint64) bool {
	x := t.CPU.FP
	if fp == 0 {
		x.Reset()
		return true
	}
	in, e := t.CopyIn(emu.Addr(fp), emu.XOffHeader)
	if e != 0 {
		return false
	}
	xcr0 := x.Components()
	size := emu.XAreaSize(xcr0)
	misaligned := func(n uint64) bool { return fp%n != 0 && !t.Kernel.Config.Compat } // Valgrind's frames are as they come
	have, invalid := uint64(emu.XX87|emu.XSSE), misaligned(16)
	sw := in[fpSwReserved:]
	if linux.Uint32(sw) == FpMagic1 && int(linux.Uint32(sw[16:])) >= size && linux.Uint32(sw[4:]) >= linux.Uint32(sw[16:]) {
		m2, e := t.In32(emu.Addr(fp + uint64(linux.Uint32(sw[16:]))))
		ext, e2 := t.CopyIn(emu.Addr(fp+emu.XOffHeader), size-emu.XOffHeader)
		if e == 0 && e2 == 0 && m2 == FpMagic2 {
			invalid = misaligned(64) || linux.Uint64(ext)&^xcr0 != 0 || linux.Uint64(ext[8:])|linux.Uint64(ext[16:]) != 0
			in = append(in[:emu.XOffHeader:emu.XOffHeader], ext...)
			have = linux.Uint64(ext) & linux.Uint64(sw[8:]) & xcr0
		}
	}
	mxcsr := linux.Uint32(in[emu.XOffMXCSR:])
	if invalid || mxcsr&^emu.MXCSRMask != 0 {
		return false
	}
	x.Reset()
	linux.PutUint32(x[emu.XOffMXCSR:], mxcsr)
	if have&emu.XX87 != 0 {
		x.LoadX87(in)
	}
	if have&emu.XSSE != 0 {
		copy(x[emu.XOffXMM:emu.XOffXMM+256], in[emu.XOffXMM:])
	}
	for _, c := range emu.XComponents {
		if have>>c.Number&1 != 0 {
			copy(c.In(x), in[c.Area:])
		}
	}
	return true
}
