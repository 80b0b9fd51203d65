package x86

import (
	"strconv"
	"strings"
)

// conditionNames are the ends of Jcc, SETcc and CMOVcc by condition code.
var conditionNames = [16]string{"o", "no", "b", "ae", "e", "ne", "be", "a", "s", "ns", "p", "np", "l", "ge", "le", "g"}

// Names of the first eight general registers with 64 and 8 bits; the others have numbers.
var (
	names64 = [8]string{"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi"}
	names8  = [8]string{"al", "cl", "dl", "bl", "spl", "bpl", "sil", "dil"}
	names8H = [8]string{"ah", "ch", "dh", "bh"}
)

var segmentNames = [8]string{"es", "cs", "ss", "ds", "fs", "gs", "?", "?"}

// pointerNames name the sizes of memory operands, in bytes.
var pointerNames = map[uint16]string{
	1: "BYTE", 2: "WORD", 4: "DWORD", 6: "FWORD", 8: "QWORD", 10: "TBYTE", 16: "XMMWORD", 32: "YMMWORD", 64: "ZMMWORD",
}

// Format returns i, which lies at address pc, in Intel's syntax as objdump -M intel writes it, but
// that it gives comparisons their Intel names with the predicate as an operand, and string
// instructions no operands.
func (i *Inst) Format(pc uint64) string {
	var b strings.Builder
	switch {
	case i.Lock:
		b.WriteString("lock ")
	case i.Rep && (i.Op == CMPS || i.Op == SCAS):
		b.WriteString("repz ")
	case i.Rep:
		b.WriteString("rep ")
	case i.Repne:
		b.WriteString("repnz ")
	}
	b.WriteString(i.mnemonic())
	sep := " "
	for k := range i.Args[:i.NArgs] {
		if i.isString() {
			break
		}
		b.WriteString(sep)
		if rounding := roundingNames[i.Rounding]; rounding != "" && i.Args[k].Kind == ArgImm {
			b.WriteString(rounding + ",")
		}
		b.WriteString(i.operand(&i.Args[k], pc))
		if k == 0 {
			b.WriteString(i.maskName())
		}
		sep = ","
	}
	if rounding := roundingNames[i.Rounding]; rounding != "" && i.Args[i.NArgs-1].Kind != ArgImm {
		b.WriteString("," + rounding)
	}
	return b.String()
}

// maskName returns what stands behind a result that is masked.
func (i *Inst) maskName() string {
	switch {
	case i.Mask == 0:
		return ""
	case i.Zeroing:
		return "{k" + strconv.Itoa(int(i.Mask)) + "}{z}"
	}
	return "{k" + strconv.Itoa(int(i.Mask)) + "}"
}

// roundingNames are what stands for a Rounding behind the last operand that is no immediate.
var roundingNames = [...]string{RoundSAE: "{sae}", RoundNearest: "{rn-sae}", RoundDown: "{rd-sae}", RoundUp: "{ru-sae}", RoundZero: "{rz-sae}"}

// isString reports whether i is a string instruction, with those for devices.
func (i *Inst) isString() bool { return i.Op.IsString() || i.Op == INS || i.Op == OUTS }

func (i *Inst) mnemonic() string {
	switch i.Op {
	case JCC:
		return "j" + conditionNames[i.Cond]
	case SETCC:
		return "set" + conditionNames[i.Cond]
	case CMOVCC:
		return "cmov" + conditionNames[i.Cond]
	}
	name := strings.ToLower(i.Op.String())
	if i.Op == MOV && (i.ImmLen == 8 || i.DispLen == 8) {
		return "movabs"
	}
	if i.isString() {
		name += map[uint8]string{1: "b", 2: "w", 4: "d", 8: "q"}[i.OpSize]
	}
	return name
}

func (i *Inst) operand(a *Arg, pc uint64) string {
	n := strconv.Itoa(int(a.Reg))
	switch a.Kind {
	case ArgGPR:
		return gprName(a.Reg, a.Size, a.High8)
	case ArgMem:
		if i.Broadcast {
			return i.memory(uint16(i.BroadcastSize()))
		}
		return i.memory(a.Size)
	case ArgImm:
		return "0x" + strconv.FormatUint(truncated(uint64(a.Imm), a.Size, i.OpSize), 16)
	case ArgRel:
		return "0x" + strconv.FormatUint(pc+uint64(i.Len)+uint64(i.Target), 16)
	case ArgXMM:
		return vectorName(a.Size) + n
	case ArgMMX:
		return "mm" + n
	case ArgST:
		if a.Reg == 0 {
			return "st"
		}
		return "st(" + n + ")"
	case ArgSeg:
		return segmentNames[a.Reg&7]
	case ArgCR:
		return "cr" + n
	case ArgDR:
		return "dr" + n
	case ArgMask:
		return "k" + n
	}
	return "?"
}

// vectorName returns the name of vector registers of size bytes, without the number.
func vectorName(size uint16) string {
	switch size {
	case 32:
		return "ymm"
	case 64:
		return "zmm"
	}
	return "xmm"
}

// truncated cuts an immediate to the size of the operand it is for.
func truncated(x uint64, size uint16, opSize uint8) uint64 {
	n := uint64(size)
	if n < uint64(opSize) && int64(x) < 0 {
		n = uint64(opSize)
	}
	if n == 0 || n >= 8 {
		return x
	}
	return x & (1<<(8*n) - 1)
}

func gprName(r Reg, size uint16, high bool) string {
	if r >= 8 && r <= R15 {
		return "r" + strconv.Itoa(int(r)) + map[uint16]string{1: "b", 2: "w", 4: "d"}[size]
	}
	if r > R15 {
		return "?"
	}
	switch {
	case high:
		return names8H[r]
	case size == 1:
		return names8[r]
	case size == 2:
		return names64[r][1:]
	case size == 4:
		return "e" + names64[r][1:]
	}
	return names64[r]
}

// memory returns the memory operand, of size bytes or, if that is 0, of none.
func (i *Inst) memory(size uint16) string {
	var b strings.Builder
	if name := pointerNames[size]; name != "" && i.Op != LEA {
		b.WriteString(name)
		if i.Broadcast {
			b.WriteString(" BCST ")
		} else {
			b.WriteString(" PTR ")
		}
	}
	m := &i.Mem
	switch m.Seg {
	case SegFS:
		b.WriteString("fs:")
	case SegGS:
		b.WriteString("gs:")
	}
	addr := uint16(m.AddrSize)
	var parts []string
	if m.RIPRel {
		parts = append(parts, map[uint16]string{8: "rip", 4: "eip"}[addr])
	}
	if m.Base != NoReg {
		parts = append(parts, gprName(m.Base, addr, false))
	}
	if m.Index != NoReg {
		index := gprName(m.Index, addr, false)
		if m.VSIB {
			index = vectorName(uint16(i.NRefs)*uint16(i.IndexSize())) + strconv.Itoa(int(m.Index))
		}
		parts = append(parts, index+"*"+strconv.Itoa(int(m.Scale)))
	}
	if len(parts) == 0 {
		if m.Seg == SegNone {
			b.WriteString("ds:")
		}
		b.WriteString("0x" + strconv.FormatUint(uint64(m.Disp), 16))
		return b.String()
	}
	b.WriteString("[" + strings.Join(parts, "+"))
	switch {
	case m.Disp < 0:
		b.WriteString("-0x" + strconv.FormatUint(uint64(-m.Disp), 16))
	case m.Disp > 0 || i.DispLen > 0:
		b.WriteString("+0x" + strconv.FormatUint(uint64(m.Disp), 16))
	}
	b.WriteString("]")
	return b.String()
}
