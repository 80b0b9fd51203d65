//go:build unicorn && linux && (amd64 || arm64)

package unicorn

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/sem"
	"github.com/cgemu/cgemu/emu/x86"
)

// wrong reports whether g is an instruction that libunicorn executes wrongly without a word (measured with
// 2.0.1 by emu/enginetest). No compiler makes them: they are refused.
func wrong(g *guest.Insn) bool {
	if g.Kind == guest.Branch {
		return bytes.IndexByte(g.Bytes[:g.NPrefix], 0x66) >= 0 // RIP is cut to 16 bits, as by AMD's CPUs
	}
	if g.Kind != guest.Plain {
		return false
	}
	switch g.Op {
	case x86.PHADDW, x86.PHADDD, x86.PHADDSW, x86.PHSUBW, x86.PHSUBD, x86.PHSUBSW:
		return !g.HasMem && g.Args[0].Reg == g.Args[1].Reg // the first half of the result is the second operand
	case x86.LAHF, x86.SAHF:
		return g.REX != 0 // AH becomes SPL
	case x86.SHLD, x86.SHRD:
		// The address is taken relative to the immediate operand.
		return g.HasMem && g.Mem.RIPRel && g.ImmLen > 0
	case x86.PCMPESTRI, x86.PCMPESTRM:
		return true // with a length of 80000000H it reads wild memory of the host's
	case x86.PCMPISTRM, x86.DPPS:
		return true // other masks, another rounding
	case x86.TEST:
		return g.HasMem && g.Mem.RIPRel && g.Bytes[g.OpcodeOff]&0xfe == 0xf6 && g.ModRM>>3&7 == 1 // as SHLD
	}
	// Of 66 and F2 or F3 the last two choose the instruction; for the library it is 66.
	if g.Enc != x86.Legacy || g.VecRead|g.VecWrite == 0 {
		return false
	}
	var has66, hasF2F3 bool
	for _, b := range g.Bytes[:g.NPrefix] {
		has66 = has66 || b == 0x66
		hasF2F3 = hasF2F3 || b == 0xf2 || b == 0xf3
	}
	return has66 && hasF2F3
}

// lacking reports whether Go executes an instruction that libunicorn lacks in some version, or does not know
// in this form: F3 0F BC is TZCNT there whatever the guest's CPU has, BSF and BSR of 0 clear the upper half of a
// register, CLFLUSH does not fault, LOCK NEG sets wrong flags.
func lacking(g *guest.Insn) bool {
	if g.Kind == guest.Rep { // of F2 and F3 it takes F2, not the last one
		return bytes.IndexByte(g.Bytes[:g.NPrefix], 0xf2) >= 0 && bytes.IndexByte(g.Bytes[:g.NPrefix], 0xf3) >= 0
	}
	return sem.Has(g)
}

// refuse says what happens at an instruction that is not executed.
func (e *Engine) refuse(g *guest.Insn) emu.Fault {
	if g.Kind != guest.Plain && g.Kind != guest.Branch {
		return e.decoder.Refuse(g, e.Model)
	}
	return emu.Fault{Vector: emu.VecUD, Unsupported: fmt.Sprintf("%v, which libunicorn executes wrongly: % x", g.Op, g.Bytes)}
}

// unmasks reports whether g, an LDMXCSR, unmasks exceptions: the library would not raise them.
func (e *Engine) unmasks(c *emu.CPU, g *guest.Insn) bool {
	const masks = 0x1f80
	var b [4]byte
	if g.Op != x86.LDMXCSR {
		return false
	}
	for r := range g.References {
		if e.mem.Read(guest.RefAddr(c, g, r), b[:]) < len(b) {
			return false // it faults
		}
	}
	return binary.LittleEndian.Uint32(b[:])&masks != masks
}
