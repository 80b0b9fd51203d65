package sem

import (
	"encoding/binary"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/soft"
)

// Bits of the x87 status word besides those of package soft.
const (
	x87SF = 0x40 // stack fault
	x87ES = 0x80 // an unmasked exception is pending
)

// defaultNaN is the result of a masked invalid operation.
var defaultNaN = soft.F80{Mant: 0xc000000000000000, SE: 0xffff}

// An x87 is a view of the x87 state of an XState.
type x87 struct {
	*emu.XState
	fcw, fsw uint16
}

func viewX87(x *emu.XState) x87 {
	return x87{x, binary.LittleEndian.Uint16(x[emu.XOffFCW:]), binary.LittleEndian.Uint16(x[emu.XOffFSW:])}
}

// st returns ST(i).
func (x x87) st(i int) soft.F80 {
	b := x.XState[emu.XOffST+16*i:]
	return soft.F80{Mant: binary.LittleEndian.Uint64(b), SE: binary.LittleEndian.Uint16(b[8:])}
}

// setST writes ST(i), and marks it as not empty.
func (x x87) setST(i int, v soft.F80) {
	b := x.XState[emu.XOffST+16*i:]
	binary.LittleEndian.PutUint64(b, v.Mant)
	binary.LittleEndian.PutUint16(b[8:], v.SE)
	x.XState[emu.XOffFTW] |= 1 << x.physical(i)
}

func (x x87) physical(i int) uint { return (x87Top(x.fsw) + uint(i)) & 7 }

func (x x87) empty(i int) bool { return x.XState[emu.XOffFTW]>>x.physical(i)&1 == 0 }

// rotate moves the stack top by n; registers are stored from the top on.
func (x *x87) rotate(n int) {
	var regs [128]byte
	copy(regs[:], x.XState[emu.XOffST:emu.XOffXMM])
	for i := range 8 {
		copy(x.XState[emu.XOffST+16*i:], regs[16*((i+n)&7):16*((i+n)&7)+16])
	}
	top := (x87Top(x.fsw) + uint(n)) & 7
	x.fsw = x.fsw&^0x3800 | uint16(top)<<11
}

// finish writes the status word back.
func (x x87) finish() {
	binary.LittleEndian.PutUint16(x.XState[emu.XOffFSW:], x.fsw)
	settleX87(x.XState)
}

// stopped reports whether status leaves the operands as they are: out of range, or an
// unmasked exception found before the operation.
func (x x87) stopped(status uint16) bool {
	return status&soft.C2 != 0 || status&(soft.IE|soft.DE|soft.ZE)&^x.fcw != 0
}

// unary returns the semantics of an instruction on ST(0), which pushes a second result if push is set. clears
// has the condition bits it defines besides C1.
func unary(f func(soft.F80, uint16) soft.Result, push bool, clears uint16) semantics {
	return func(_ *Machine, c *emu.CPU, _ *guest.Insn) *emu.Fault { return unaryX87(c.FP, f, push, clears) }
}

func unaryX87(fp *emu.XState, f func(soft.F80, uint16) soft.Result, push bool, clears uint16) *emu.Fault {
	x := viewX87(fp)
	if x.fsw&x87ES != 0 {
		return &emu.Fault{Vector: emu.VecMF}
	}
	var r soft.Result
	switch {
	case x.empty(0):
		r = soft.Result{Value: defaultNaN, Pushed: defaultNaN, Status: soft.IE | x87SF}
	case push && !x.empty(7):
		r = soft.Result{Value: defaultNaN, Pushed: defaultNaN, Status: soft.IE | x87SF | soft.C1}
	default:
		r = f(x.st(0), x.fcw)
	}
	x.fsw = x.fsw&^(soft.C1|clears) | r.Status
	if !x.stopped(r.Status) {
		x.setST(0, r.Value)
		if push {
			x.rotate(-1)
			x.setST(0, r.Pushed)
		}
	}
	x.finish()
	return nil
}

// binaryPop returns the semantics of an instruction on ST(1) and ST(0) that leaves its result in
// ST(1) and pops.
func binaryPop(f func(y, x soft.F80, cw uint16) soft.Result) semantics {
	return func(_ *Machine, c *emu.CPU, _ *guest.Insn) *emu.Fault { return binaryPopX87(c.FP, f) }
}

func binaryPopX87(fp *emu.XState, f func(y, x soft.F80, cw uint16) soft.Result) *emu.Fault {
	x := viewX87(fp)
	if x.fsw&x87ES != 0 {
		return &emu.Fault{Vector: emu.VecMF}
	}
	r := soft.Result{Value: defaultNaN, Status: soft.IE | x87SF}
	if !x.empty(0) && !x.empty(1) {
		r = f(x.st(1), x.st(0), x.fcw)
	}
	x.fsw = x.fsw&^soft.C1 | r.Status
	if !x.stopped(r.Status) {
		x.setST(1, r.Value)
		x.XState[emu.XOffFTW] &^= 1 << x.physical(0)
		x.rotate(1)
	}
	x.finish()
	return nil
}
