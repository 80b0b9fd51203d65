package syscalls

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
	frameUC      = 8
	frameStack   = frameUC + 16
	frameContext = frameUC + 40
	frameMask    = frameContext + 256
	frameInfo    = frameMask + 8
	frameSize    = frameInfo + 128

	redZone = 128

	// valgrindFrame is the size of Valgrind 3.19's frame, which also holds its own copy of the CPU
	// (coregrind/m_sigframe/sigframe-amd64-linux.c). The parts above are where they are in Linux's, and
	// the FP state follows them.
	valgrindFrame = 3768

	fpMagic1     = 0x46505853 // FP_XSTATE_MAGIC1
	fpMagic2     = 0x46505845
	fpSwReserved = 464 // offset of struct _fpx_sw_bytes in the FXSAVE image
	fpMagic2Size = 4

	// ucFlags: UC_FP_XSTATE, UC_SIGCONTEXT_SS, UC_STRICT_RESTORE_SS.
	ucFlags = 1 | 2 | 4

	userCS = 0x33
	userSS = 0x2b
)

// contextRegs is the order of registers in struct sigcontext.
var contextRegs = [...]int{
	emu.R8, emu.R9, emu.R10, emu.R11, emu.R12, emu.R13, emu.R14, emu.R15,
	emu.RDI, emu.RSI, emu.RBP, emu.RBX, emu.RDX, emu.RAX, emu.RCX, emu.RSP,
}

// callHandler makes t enter the handler of act for s.
func (t *Thread) callHandler(s *sigInfo, act sigAction) {
	sig := int(s.signo)
	sp := t.cpu.Regs[emu.RSP]
	onAlt := t.altstack.contains(sp)
	top := sp - redZone
	if act.flags&linux.SA_ONSTACK != 0 && !onAlt && t.altstack.flags&linux.SS_DISABLE == 0 {
		top = t.altstack.sp + t.altstack.size
		onAlt = true
	}
	fp := (top - emu.XStateSize - fpMagic2Size) &^ 63
	frame := (fp-frameSize)&^15 - 8
	if t.k.cfg.Compat {
		frame = (top-valgrindFrame)&^15 - 8
		fp = frame + frameSize
	}
	// "If we are on the alternate signal stack and would overflow it, don't."
	overflow := onAlt && t.altstack.flags&linux.SS_DISABLE == 0 && !within(frame, t.altstack.sp, t.altstack.size)
	if overflow || !t.writeFrame(frame, fp, s, act) {
		t.forceSegv(sig)
		return
	}
	c := t.cpu
	c.Regs[emu.RSP] = frame
	c.Regs[emu.RDI] = uint64(sig)
	c.Regs[emu.RSI] = frame + frameInfo
	c.Regs[emu.RDX] = frame + frameUC
	c.Regs[emu.RAX] = 0
	c.RIP = emu.Addr(act.handler)
	c.Flags &^= emu.FlagDF | emu.FlagTF
	c.FP.Reset()
	t.mask |= act.mask
	if act.flags&linux.SA_NODEFER == 0 {
		t.mask |= sigBit(sig)
	}
	t.oldMask = nil
	if t.altstack.flags&linux.SS_AUTODISARM != 0 {
		t.altstack = altStack{flags: linux.SS_DISABLE}
	}
}

func within(a, base, size uint64) bool { return a >= base && a-base < size }

// writeFrame writes the frame and the FP state; false if memory is not writable.
func (t *Thread) writeFrame(frame, fp uint64, s *sigInfo, act sigAction) bool {
	c := t.cpu
	b := make(pack, 0, frameSize)
	b.u64(act.restorer)
	b.u64(ucFlags)
	b.u64(0) // uc_link
	b = append(b, t.altstack.encode(c.Regs[emu.RSP])...)
	put32(b[frameStack+8:], t.altstack.flags)
	for _, r := range contextRegs {
		b.u64(c.Regs[r])
	}
	b.u64(uint64(c.RIP))
	b.u64(c.Flags)
	b.u16(userCS)
	b.u16(0) // gs
	b.u16(0) // fs
	b.u16(userSS)
	b.u64(t.errCode)
	b.u64(t.trapNo)
	mask := t.mask
	if t.oldMask != nil {
		mask = *t.oldMask
	}
	b.u64(uint64(mask)) // oldmask
	b.u64(t.cr2)
	b.u64(fp)
	b.zero(64)
	b.u64(uint64(mask))
	b = append(b, s.encode()...)

	x := make([]byte, emu.XStateSize+fpMagic2Size)
	copy(x, c.FP[:])
	sw := x[fpSwReserved:]
	put32(sw, fpMagic1)
	put32(sw[4:], emu.XStateSize+fpMagic2Size)
	put64(sw[8:], 7)
	put32(sw[16:], emu.XStateSize)
	put32(x[emu.XStateSize:], fpMagic2)
	return t.copyOut(emu.Addr(fp), x) == 0 && t.copyOut(emu.Addr(frame), b) == 0
}

// restoredFlags are the RFLAGS bits that a signal frame can set.
const restoredFlags = emu.UserFlags &^ emu.FlagID

// sysRtSigreturn implements rt_sigreturn(2).
func sysRtSigreturn(t *Thread, _ Args) (uint64, linux.Errno) {
	c := t.cpu
	frame := emu.Addr(c.Regs[emu.RSP] - 8)
	b, e := t.copyIn(frame, frameSize)
	if e != 0 || !t.restoreFP(le64(b[frameContext+23*8:])) {
		t.forceSegv(0)
		return 0, eNoReturn
	}
	ctx := b[frameContext:]
	for i, r := range contextRegs {
		c.Regs[r] = le64(ctx[8*i:])
	}
	c.RIP = emu.Addr(le64(ctx[16*8:]))
	c.Flags = c.Flags&^restoredFlags | le64(ctx[17*8:])&restoredFlags
	t.mask = sigSet(le64(b[frameMask:])) &^ unblockable
	st := b[frameStack:]
	// Errors are ignored, as in Linux: the stack may be in use.
	t.setAltStack(le64(st), le32(st[8:]), le64(st[16:]), c.Regs[emu.RSP])
	return 0, eNoReturn
}

// restoreFP loads FP state from a signal frame.
func (t *Thread) restoreFP(fp uint64) bool {
	x := t.cpu.FP
	if fp == 0 {
		x.Reset()
		return true
	}
	legacy, e := t.copyIn(emu.Addr(fp), 512)
	if e != 0 {
		return false
	}
	var in emu.XState
	copy(in[:], legacy)
	have := byte(3)
	sw := legacy[fpSwReserved:]
	if le32(sw) == fpMagic1 && le32(sw[16:]) >= emu.XStateSize && le32(sw[4:]) >= le32(sw[16:]) {
		m2, e := t.in32(emu.Addr(fp + uint64(le32(sw[16:]))))
		ext, e2 := t.copyIn(emu.Addr(fp+512), emu.XStateSize-512)
		if e == 0 && e2 == 0 && m2 == fpMagic2 {
			copy(in[512:], ext)
			have = in[emu.XOffHeader] & byte(le64(sw[8:])) & 7
		}
	}
	var initial emu.XState
	initial.Reset()
	if have&1 == 0 {
		copy(in[:emu.XOffMXCSR], initial[:emu.XOffMXCSR])
		copy(in[emu.XOffST:emu.XOffXMM], initial[emu.XOffST:emu.XOffXMM])
	}
	if have&2 == 0 {
		clear(in[emu.XOffXMM : emu.XOffXMM+256])
	}
	if have&4 == 0 {
		clear(in[emu.XOffYMMH:])
	}
	mxcsr := le32(in[emu.XOffMXCSR:])
	if mxcsr&^emu.MXCSRMask != 0 {
		return false
	}
	clear(in[emu.XOffXMM+256 : emu.XOffHeader])
	clear(in[emu.XOffHeader:emu.XOffYMMH])
	in[emu.XOffHeader] = 7
	copy(in[emu.XOffMXCSRMsk:], initial[emu.XOffMXCSRMsk:emu.XOffMXCSRMsk+4])
	clear(in[emu.XOffFOP:emu.XOffMXCSR])
	*x = in
	return true
}
