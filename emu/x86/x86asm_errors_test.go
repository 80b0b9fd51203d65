package x86

import (
	"slices"
	"strings"

	"golang.org/x/arch/x86/x86asm"
)

// x86asmErrors are the differences in which x86asm is wrong, or has another opinion that is as good; compare takes the
// first that applies. TestX86asm fails if one is not met any more.
var x86asmErrors = []struct {
	reason  string
	applies func(d *decoding) bool
}{
	// What x86asm decodes and we refuse.
	{"LOCK where it is not legal raises #UD", func(d *decoding) bool {
		return d.err != nil && d.code[0] == 0xf0 && decodes(d.code[1:])
	}},
	{"66, F2 and F3 are ignored where the opcode has forms for some of them only", func(d *decoding) bool {
		return d.err != nil && decodesWithoutPrefixes(d.code)
	}},
	{"MOV to CS raises #UD", refuses(x86asm.MOV)},
	{"MOVHPD and MOVLPD from memory have no form for registers", refuses(x86asm.MOVHPD, x86asm.MOVLPD)},
	{"mask registers have the numbers 0 to 7", func(d *decoding) bool {
		return d.err != nil && strings.HasPrefix(d.theirs.Op.String(), "K")
	}},
	{"gathers need a SIB byte, and registers that differ", func(d *decoding) bool {
		return d.err != nil && strings.Contains(d.theirs.Op.String(), "GATHER")
	}},
	{"VEX.vvvv other than 1111 where it is no operand raises #UD", func(d *decoding) bool {
		at := map[byte]int{0xc4: 2, 0xc5: 1}[d.code[0]]
		if d.err == nil || at == 0 {
			return false
		}
		unused := slices.Clone(d.code)
		unused[at] |= 0x78
		return decodes(unused)
	}},
	{"AVX-VNNI-INT16, SHA512, SM3 and SM4 are in no CPU model and not in insns.txt", func(d *decoding) bool {
		return d.err != nil && slices.ContainsFunc([]string{"VPDPW", "VSHA512", "VSM3", "VSM4"}, func(family string) bool {
			return strings.HasPrefix(d.theirs.Op.String(), family)
		})
	}},

	// What both decode.
	{"66 and F3 are ignored in front of 0F AE and 0F 09", mistakes(CLFLUSHOPT, CLWB, CLRSSBSY, INCSSP, PTWRITE, TPAUSE, UMONITOR, UMWAIT, WBNOINVD)},
	{"0F C7 /6 with REX.W is RDRAND, with F3 or memory too", mistakes(SENDUIPI, VMCLEAR, VMPTRLD, VMXON)},
	{"RDRAND with REX.W has no operand", mistakes(RDRAND)},
	{"ModRM.mod of MOV to and from control registers is not ignored", func(d *decoding) bool {
		return d.err == nil && forms[d.ours.form].attr&attrNoMem != 0
	}},
	{"VZEROALL and VZEROUPPER have a ModRM byte", mistakes(VZEROALL, VZEROUPPER)},
	{"RIP-relative addresses are absolute with VEX", func(d *decoding) bool {
		if d.err != nil || d.ours.Enc != VEX || !d.ours.Mem.RIPRel {
			return false
		}
		relative := *d
		for i, a := range d.theirs.Args {
			if m, ok := a.(x86asm.Mem); ok {
				m.Base = x86asm.RIP
				relative.theirs.Args[i] = m
			}
		}
		return relative.difference() == ""
	}},
	{"the segment of LEA is shown, which has no effect", mistakes(LEA)},
	{"REX.W leaves the registers of these at 32 bits", mistakes(LSL, MOVMSKPD, MOVMSKPS, PMOVMSKB)},
	{"MOVSXD with 66 reads 32 bits", mistakes(MOVSXD)},
	{"XLAT shows the operand it implies, INT3 its number", mistakes(XLAT, INT3)},
	{"with VEX.W the string comparisons have names of their own", mistakes(VPCMPESTRI, VPCMPESTRM, VPCMPISTRI)},
}

// refuses is about instructions of x86asm's that we do not decode.
func refuses(ops ...x86asm.Op) func(d *decoding) bool {
	return func(d *decoding) bool { return d.err != nil && slices.Contains(ops, d.theirs.Op) }
}

// mistakes is about instructions of ours that x86asm takes for others, or for longer ones, or shows with other
// operands.
func mistakes(ops ...Op) func(d *decoding) bool {
	return func(d *decoding) bool { return d.err == nil && slices.Contains(ops, d.ours.Op) }
}

func decodes(code []byte) bool {
	var inst Inst
	return Decode(code, &inst) == nil
}
