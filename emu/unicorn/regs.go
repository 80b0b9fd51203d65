//go:build unicorn && linux && (amd64 || arm64)

package unicorn

import (
	"encoding/binary"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/x86"
)

// The batches in which registers are read and written: general ones, and floating-point ones.
const (
	numGeneral = 16 + 4
	numFloat   = 8 + 4 + 16
	// Indexes in the batch of general registers.
	atRIP    = 16
	atFlags  = 17
	atFSBase = 18
	atGSBase = 19
	// And in that of floating-point ones.
	atFPCW  = 8
	atFPSW  = 9
	atTags  = 10
	atMXCSR = 11
	atXMM   = 12
)

// registers are the values and the arguments of uc_reg_read_batch and uc_reg_write_batch.
type registers struct {
	general  [numGeneral]uint64
	float    [numFloat][16]byte
	ids      [numGeneral + numFloat]int32
	pointers [numGeneral + numFloat]uintptr
}

var generalIDs = [numGeneral]int32{
	regRAX, regRCX, regRDX, regRBX, regRSP, regRBP, regRSI, regRDI,
	regR8, regR8 + 1, regR8 + 2, regR8 + 3, regR8 + 4, regR8 + 5, regR8 + 6, regR8 + 7,
	atRIP: regRIP, atFlags: regEFLAGS, atFSBase: regFSBase, atGSBase: regGSBase,
}

func (r *registers) prepare() {
	for i, id := range generalIDs {
		r.ids[i], r.pointers[i] = id, address(&r.general[i])
	}
	ids := r.ids[numGeneral:]
	for i := range 8 {
		ids[i] = regFP0 + int32(i)
	}
	ids[atFPCW], ids[atFPSW], ids[atTags], ids[atMXCSR] = regFPCW, regFPSW, regFPTAG, regMXCSR
	for i := range 16 {
		ids[atXMM+i] = regXMM0 + int32(i)
	}
	for i := range r.float {
		r.pointers[numGeneral+i] = address(&r.float[i])
	}
}

// transfer reads or writes one of the batches.
func (e *Engine) transfer(f uintptr, first, n int) {
	r := e.shared.regs
	if err := call(f, e.uc, address(&r.ids[first]), address(&r.pointers[first]), uintptr(n)); err != nil {
		panic("BUG: " + describe("registers", err).Error())
	}
}

// loadGeneral and storeGeneral give the library the general registers, and take them.
func (e *Engine) loadGeneral(c *emu.CPU) {
	r := &e.shared.regs.general
	copy(r[:], c.Regs[:])
	r[atRIP] = uint64(c.RIP)
	r[atFlags] = c.Flags&ownFlags | emu.FlagR1
	r[atFSBase], r[atGSBase] = c.FSBase, c.GSBase
	e.transfer(e.lib.regWriteBatch, 0, numGeneral)
}

func (e *Engine) storeGeneral(c *emu.CPU) {
	r := &e.shared.regs.general
	e.transfer(e.lib.regReadBatch, 0, numGeneral)
	copy(c.Regs[:], r[:16])
	c.RIP = emu.Addr(r[atRIP])
	c.Flags = c.Flags&^ownFlags | r[atFlags]&ownFlags
}

// ownFlags are the flags that instructions change which the library executes.
const ownFlags = uint64(x86.StatusFlags) | emu.FlagDF

// loadFloat and storeFloat do the same with x87 and SSE state. Its x87 registers are numbered as
// they lie in the CPU, ours from the stack top on.
func (e *Engine) loadFloat(c *emu.CPU) {
	r, x := &e.shared.regs.float, c.FP
	top := int(x[emu.XOffFSW+1]) >> 3 & 7
	tags := uint16(0)
	for i := range 8 {
		phys := (top + i) & 7
		copy(r[phys][:10], x[emu.XOffST+16*i:])
		if x[emu.XOffFTW]>>i&1 == 0 {
			tags |= 3 << (2 * i)
		}
	}
	copy(r[atFPCW][:2], x[emu.XOffFCW:])
	copy(r[atFPSW][:2], x[emu.XOffFSW:])
	binary.LittleEndian.PutUint16(r[atTags][:], tags)
	copy(r[atMXCSR][:4], x[emu.XOffMXCSR:])
	for i := range 16 {
		copy(r[atXMM+i][:], x[emu.XOffXMM+16*i:])
	}
	e.transfer(e.lib.regWriteBatch, numGeneral, numFloat)
}

func (e *Engine) storeFloat(c *emu.CPU) {
	r, x := &e.shared.regs.float, c.FP
	e.transfer(e.lib.regReadBatch, numGeneral, numFloat)
	copy(x[emu.XOffFCW:], r[atFPCW][:2])
	copy(x[emu.XOffFSW:], r[atFPSW][:2])
	top := int(x[emu.XOffFSW+1]) >> 3 & 7
	tags := binary.LittleEndian.Uint16(r[atTags][:])
	x[emu.XOffFTW] = 0
	for i := range 8 {
		copy(x[emu.XOffST+16*i:], r[(top+i)&7][:10])
		if tags>>(2*i)&3 != 3 {
			x[emu.XOffFTW] |= 1 << i
		}
	}
	copy(x[emu.XOffMXCSR:], r[atMXCSR][:4])
	for i := range 16 {
		copy(x[emu.XOffXMM+16*i:], r[atXMM+i][:])
	}
}
