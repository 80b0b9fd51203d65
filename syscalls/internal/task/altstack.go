package task

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// minSigStack is the smallest stack that sigaltstack(2) takes (MINSIGSTKSZ).
const minSigStack = 2048

// minSigStackOf returns AT_MINSIGSTKSZ for CPUs with x's components: 0 if frames fit into minSigStack. What a frame
// needs besides its XSAVE area is what Linux 6.18 says.
func minSigStackOf(x *emu.XState) uint64 {
	const besides = 944
	n := uint64(emu.XAreaSize(x.Components()))
	if n+besides <= minSigStack {
		return 0
	}
	return n + besides
}

// An altStack is the stack of sigaltstack(2), where handlers with SA_ONSTACK run.
type altStack struct {
	sp, size uint64
	flags    uint32
}

// contains reports whether sp lies on the alternate stack.
func (s *altStack) contains(sp uint64) bool {
	return s.flags&linux.SS_AUTODISARM == 0 && s.size > 0 && sp > s.sp && sp-s.sp <= s.size
}

// state is what sigaltstack(2) reports as flags to a thread whose stack pointer is sp.
func (s *altStack) state(sp uint64) uint32 {
	switch {
	case s.size == 0:
		return linux.SS_DISABLE
	case s.contains(sp):
		return linux.SS_ONSTACK | s.flags&linux.SS_AUTODISARM
	}
	return s.flags & linux.SS_AUTODISARM
}

// Encode is s as a stack_t, for a thread whose stack pointer is sp.
func (s *altStack) Encode(sp uint64) []byte {
	var b linux.Pack
	b.U64(s.sp)
	b.U32(s.state(sp))
	b.U32(0)
	b.U64(s.size)
	return b
}

// SetAltStack implements sigaltstack(2) for a thread whose stack pointer is sp.
func (t *Thread) SetAltStack(base uint64, flags uint32, size, sp uint64) linux.Errno {
	if t.Altstack.contains(sp) {
		return linux.EPERM
	}
	mode := flags &^ linux.SS_AUTODISARM
	if mode <= linux.SS_DISABLE && t.Altstack == (altStack{base, size, flags}) {
		return 0 // no change: allowed even if it is too small
	}
	switch mode {
	case linux.SS_DISABLE:
		t.Altstack = altStack{flags: flags}
		return 0
	case 0, linux.SS_ONSTACK:
	default:
		return linux.EINVAL
	}
	if size < minSigStack {
		return linux.ENOMEM
	}
	t.Altstack = altStack{base, size, flags}
	return 0
}
