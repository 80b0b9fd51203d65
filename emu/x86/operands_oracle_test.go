//go:build oracles

package x86

import (
	"strconv"
	"strings"
)

// differentOperands compares operands with those objdump shows.
func differentOperands(mnem string, operands []string, inst *Inst) string {
	if inst.Flow == FlowJcc || inst.Flow == FlowLoop || inst.Flow == FlowJmp || inst.Flow == FlowCall || inst.Flow == FlowXbegin {
		return ""
	}
	if hiddenOperands[inst.Op] {
		return ""
	}
	ours := inst.Args[:inst.NArgs]
	if len(operands)+1 == len(ours) {
		ours = withoutST(ours, inst)
		if _, ok := pseudo[inst.Op]; ok {
			ours = ours[:len(operands)] // the immediate is in the mnemonic
		}
	}
	if len(ours) != len(operands) {
		return "number of operands of " + mnem
	}
	for i, o := range operands {
		if kind := differentOperand(o, &ours[i], inst); kind != "" {
			return kind + " of " + mnem
		}
	}
	return ""
}

// withoutST drops the ST(0) that memory forms and some others imply.
func withoutST(args []Arg, inst *Inst) []Arg {
	for i, a := range args {
		other := args[(i+1)%len(args)]
		if a.Kind == ArgST && a.Reg == 0 && (other.Kind == ArgMem || other.Reg == Reg(inst.ModRM&7)) {
			return []Arg{other}
		}
	}
	return args
}

// hiddenOperands are instructions whose operands objdump shows differently:
// implicit ones that we leave out, or the other way round.
var hiddenOperands = map[Op]bool{
	MOVS: true, STOS: true, LODS: true, SCAS: true, CMPS: true, INS: true, OUTS: true, XLAT: true,
	FCOMPP: true, FUCOMPP: true, FNSTSW: true, NOP: true, FENI: true, FDISI: true, FSETPM: true,
}

var ptrSizes = map[string]uint16{
	"BYTE": 1, "WORD": 2, "DWORD": 4, "FWORD": 6, "QWORD": 8, "TBYTE": 10, "XMMWORD": 16, "OWORD": 16, "YMMWORD": 32, "ZMMWORD": 64,
}

func differentOperand(o string, a *Arg, inst *Inst) string {
	o, _, _ = strings.Cut(o, "{")
	o = strings.TrimSpace(o)
	if strings.ContainsAny(o, "[:") {
		if a.Kind != ArgMem {
			return "operand kind (memory)"
		}
		return differentMemory(o, a, inst)
	}
	if r, ok := registers[o]; ok {
		switch {
		case a.Kind != r.kind || a.Reg != r.reg || a.High8 != r.high:
			return "register " + o
		case (r.kind == ArgGPR || r.kind == ArgXMM) && a.Size != r.size:
			return "register size " + o
		}
		return ""
	}
	v, err := strconv.ParseUint(strings.TrimPrefix(o, "0x"), 16, 64)
	if err != nil {
		return "unparsed " + o
	}
	if a.Kind != ArgImm {
		return "operand kind (immediate)"
	}
	for _, bits := range []uint{8, 16, 32, 64} {
		if v == uint64(a.Imm)&(1<<bits-1) {
			return ""
		}
	}
	return "immediate"
}

// A register as objdump names it; high is AH and its kin.
type register struct {
	kind ArgKind
	reg  Reg
	size uint16
	high bool
}

// registers has them by name.
var registers = func() map[string]register {
	names := map[string]register{"st": {kind: ArgST, size: 10}}
	for i, n := range strings.Fields("ax cx dx bx sp bp si di") {
		short := strings.TrimSuffix(n, "x")
		names["r"+n] = register{ArgGPR, Reg(i), 8, false}
		names["e"+n] = register{ArgGPR, Reg(i), 4, false}
		names[n] = register{ArgGPR, Reg(i), 2, false}
		names[short+"l"] = register{ArgGPR, Reg(i), 1, false}
		names[short+"h"] = register{ArgGPR, Reg(i), 1, true}
	}
	for i, n := range strings.Fields("es cs ss ds fs gs") {
		names[n] = register{ArgSeg, Reg(i), 2, false}
	}
	for _, numbered := range []struct {
		prefix, suffix string
		kind           ArgKind
		size           uint16
	}{
		{"xmm", "", ArgXMM, 16}, {"ymm", "", ArgXMM, 32}, {"zmm", "", ArgXMM, 64}, {"tmm", "", ArgMask, 0}, {"mm", "", ArgMMX, 8},
		{"k", "", ArgMask, 8}, {"cr", "", ArgCR, 8}, {"dr", "", ArgDR, 8}, {"st(", ")", ArgST, 10},
		{"r", "d", ArgGPR, 4}, {"r", "w", ArgGPR, 2}, {"r", "b", ArgGPR, 1}, {"r", "", ArgGPR, 8},
	} {
		for n := range 32 {
			names[numbered.prefix+strconv.Itoa(n)+numbered.suffix] = register{numbered.kind, Reg(n), numbered.size, false}
		}
	}
	return names
}()

// differentMemory compares size, segment, base, index, scale and displacement.
func differentMemory(o string, a *Arg, inst *Inst) string {
	rest := o
	if word, r, ok := strings.Cut(o, " PTR "); ok {
		if rest = r; a.Size != ptrSizes[word] && a.Size != 0 {
			return "memory size " + word
		}
	} else if _, r, ok := strings.Cut(o, " BCST "); ok {
		rest = r
	}
	m := inst.Mem
	seg, r, shown := strings.Cut(rest, ":")
	if shown {
		rest = r
	}
	if want := map[string]Seg{"fs": SegFS, "gs": SegGS}[seg]; want != m.Seg && inst.Op != LEA {
		return "segment"
	}
	want := Mem{Base: NoReg, Index: NoReg, Scale: 1, Seg: m.Seg, AddrSize: m.AddrSize, VSIB: m.VSIB, RIPRel: m.RIPRel}
	inner, bracket := strings.CutPrefix(rest, "[")
	if !bracket {
		v, err := strconv.ParseUint(strings.TrimPrefix(inner, "0x"), 16, 64)
		if err != nil || v != uint64(m.Disp) && v != uint64(uint32(m.Disp)) {
			return "absolute address"
		}
		return ""
	}
	parseAddress(strings.TrimSuffix(inner, "]"), &want)
	if want.Index == NoReg {
		want.Scale = m.Scale
	}
	if want != m {
		return "address"
	}
	return ""
}

// parseAddress parses what stands between the brackets.
func parseAddress(s string, m *Mem) {
	s = strings.ReplaceAll(s, "-", "+-")
	for i, part := range strings.Split(s, "+") {
		name, scale, scaled := strings.Cut(part, "*")
		switch {
		case part == "rip" || part == "eip":
			m.RIPRel = true
		case name == "riz" || name == "eiz":
		case strings.HasPrefix(part, "0x") || strings.HasPrefix(part, "-0x"):
			neg := part[0] == '-'
			v, _ := strconv.ParseUint(strings.TrimPrefix(part, "-")[2:], 16, 64)
			m.Disp = int64(v)
			if neg {
				m.Disp = -m.Disp
			}
			if i == 0 && m.AddrSize == 4 {
				m.Disp = int64(int32(v))
			}
		default:
			reg := registers[name].reg
			if scaled {
				n, _ := strconv.Atoi(scale)
				m.Index, m.Scale = reg, uint8(n)
			} else if m.Base == NoReg {
				m.Base = reg
			}
		}
	}
}
