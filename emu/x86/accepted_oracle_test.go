//go:build oracles

package x86

import "strings"

// x87Aliases are encodings of x87 instructions that no manual names and all
// CPUs execute (TestNativeUndefined).
var x87Aliases = map[Op]bool{FSTP: true, FCOM: true, FCOMP: true, FXCH: true}

// halfReads are MMX instructions that read the low half of their source: from
// memory 4 bytes by the SDM, 8 in Cachegrind and here.
var halfReads = map[Op]bool{PUNPCKLBW: true, PUNPCKLWD: true, PUNPCKLDQ: true}

// accepted gives the reason for a difference we accept, or "".
func accepted(kind string, l line, inst *Inst, err error) string {
	switch {
	case strings.HasPrefix(kind, "only objdump"):
		return acceptedOnlyThey(l)
	case kind == "only we decode":
		return acceptedOnlyWe(l, inst)
	case inst.Op == FWAIT:
		return "objdump shows FWAIT and the x87 instruction behind it as one"
	case inst.Op == PF3DNOW:
		return "3DNow! is one Op"
	case inst.Feature == FeatPADLOCK:
		return "objdump writes xcrypt-ecb and the like"
	}
	return acceptedDetail(kind, l, inst)
}

// acceptedOnlyThey is for what we refuse. TestNativeUndefined has the host CPU
// confirm it.
func acceptedOnlyThey(l line) string {
	mnem, _ := splitText(l.text)
	switch {
	case strings.HasPrefix(mnem, ".byte"):
		return "objdump shows code cut off by a section's end so"
	case strings.Contains(l.text, "?"):
		return "objdump shows a register that does not exist as ?"
	case strings.HasPrefix(l.text, "lock ") || strings.Contains(l.text, " lock "):
		return "LOCK where it is not legal raises #UD"
	case strings.HasPrefix(l.text, "rex") && (strings.HasPrefix(mnem, "v") || strings.HasPrefix(mnem, "k")):
		return "REX in front of VEX raises #UD"
	case l.code[0] == 0x62:
		return acceptedEVEX(l)
	case mnem == "vzeroupper" || mnem == "vzeroall" || mnem == "vldmxcsr" || mnem == "vstmxcsr":
		return "objdump ignores VEX.pp where CPUs do not"
	case strings.HasPrefix(mnem, "tile") || strings.HasSuffix(mnem, "tilecfg"):
		return "objdump ignores ModRM.reg and rm where CPUs do not"
	case l.code[0] == 0x8f:
		return "XOP with L where none is defined"
	case mnem == "mov" && strings.Contains(l.text, " cs,"):
		return "MOV to CS raises #UD"
	case strings.HasPrefix(mnem, "frstpm"):
		return "an instruction of the 287 that raises #UD"
	}
	if decodesWithoutPrefixes(l.code) {
		return "objdump ignores 66, F2 and F3 where the opcode has forms for some of them only; CPUs raise #UD"
	}
	return ""
}

// evexOnly are mnemonics objdump knows in lengths, or with EVEX, where no CPU
// has them.
var evexOnly = []string{"vp4dp", "v4f", "vrcp28", "vrsqrt28", "vexp2", "vpdpb", "vgatherpf", "vscatterpf", "vpshufbitqmb"}

// acceptedEVEX is for EVEX encodings that objdump shows and CPUs refuse.
func acceptedEVEX(l line) string {
	mnem, _ := splitText(l.text)
	switch {
	case l.code[3]&0x80 != 0:
		return "EVEX.z where nothing can become zero raises #UD"
	case l.code[3]&7 != 0 && strings.Contains(l.text, "{k"):
		return "EVEX.aaa of an instruction that cannot be masked raises #UD"
	case strings.Contains(l.text, "{sae}") && strings.HasPrefix(mnem, "vp2intersect"):
		return "EVEX.b with registers that are not rounded raises #UD"
	case strings.Contains(l.text, "BCST"):
		return "EVEX.b with an operand that has no broadcast raises #UD"
	case l.code[3]&8 == 0 || l.code[2]&0x78 != 0x78:
		return "EVEX.vvvv other than 1111 where it is no operand raises #UD"
	}
	var inst Inst
	flipped := append([]byte{}, l.code...)
	flipped[2] ^= 0x80
	if Decode(flipped, &inst) == nil {
		return "objdump ignores EVEX.W where CPUs do not"
	}
	flipped[2] = l.code[2]&^3 | 1
	if Decode(flipped, &inst) == nil {
		return "objdump ignores EVEX.pp where CPUs do not"
	}
	if mnem == "vmovw" {
		return "objdump ignores EVEX.L where CPUs do not"
	}
	if l.code[5] >= 0xc0 && strings.HasPrefix(mnem, "vmovnt") || l.code[5] < 0xc0 && strings.HasSuffix(mnem, "2m") {
		return "objdump shows a memory operand or a register where there cannot be one"
	}
	for _, p := range evexOnly {
		if strings.HasPrefix(mnem, p) {
			return "there is no such form"
		}
	}
	return ""
}

// acceptedOnlyWe is for what objdump calls bad, or shows as prefixes alone.
func acceptedOnlyWe(l line, inst *Inst) string {
	mnem, _ := splitText(l.text)
	switch {
	case inst.Feature == FeatAVX512FP16:
		return "that registers must differ is not checked: AVX-512 FP16 is refused anyway"
	case inst.Enc == EVEX && strings.Contains(l.text, "-bad}"):
		return "CPUs ignore a rounding mode where a conversion is exact"
	case inst.Feature == FeatAMX:
		return "that tiles must differ is not checked: AMX is refused anyway"
	case inst.Enc == VEX && strings.HasPrefix(mnem, "k"):
		return "VEX.B is ignored with mask registers"
	case inst.Op == VMMCALL:
		return "CPUs ignore 66 here"
	case mnem == "":
		return "objdump shows prefixes it cannot place as instructions"
	case x87Aliases[inst.Op]:
		return "an alias that CPUs execute"
	case inst.Op == NOP:
		return "0F 0D with a register is NOP on CPUs"
	case inst.Op == PF3DNOW:
		return "3DNow! is one Op"
	case inst.Op == BSF || inst.Op == BSR || inst.Op == LFENCE || inst.Op == MFENCE || inst.Op == SFENCE || inst.Op == WBINVD:
		return "CPUs ignore F2 and 66 here, and ModRM.rm of fences"
	}
	return ""
}

// acceptedDetail is for instructions both decode, with a difference.
func acceptedDetail(kind string, l line, inst *Inst) string {
	mnem, _ := splitText(l.text)
	switch {
	case strings.HasPrefix(mnem, "bnd") && inst.Op == NOP:
		return "MPX is NOP where it is missing, which is everywhere by now"
	case inst.Enc != Legacy && (inst.Op == VMOVSS || inst.Op == VMOVSD || inst.Op == VMOVSH) && strings.HasPrefix(kind, "register size"):
		return "objdump takes L for the size of a scalar's register"
	case strings.HasPrefix(mnem, "vpermil2"):
		return "the low bits of the immediate are no operand of ours"
	case strings.HasPrefix(mnem, "prefetchit") && inst.Op == NOP:
		return "a hint that is NOP where it is missing"
	case strings.HasPrefix(kind, "memory size DWORD") && halfReads[inst.Op]:
		return "MMX reads of the low half count 8 bytes (vectors/insn_events.txt)"
	case strings.HasPrefix(kind, "memory size") && farPointers[inst.Op]:
		return "a far pointer with REX.W has 10 bytes on Intel CPUs"
	case inst.Op == MOVSXD && inst.OpSize16 && inst.REX&8 != 0:
		return "objdump lets 66 win over REX.W"
	case inst.Op == XBEGIN && inst.OpSize16:
		return "objdump cuts the target to 16 bits"
	case inst.OpSize16 && (inst.Feature == FeatFSGSBASE || inst.Op == MOVDQ2Q || inst.Op == MOVQ2DQ):
		return "objdump takes 66 besides F3 or F2 for an operand size"
	}
	return ""
}

// farPointers are the instructions that read a selector and an offset.
var farPointers = map[Op]bool{JMPF: true, CALLF: true, LFS: true, LGS: true, LSS: true}
