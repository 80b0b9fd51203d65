package x86

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/arch/x86/x86asm"
)

// TestX86asm compares length, mnemonic and operands with golang.org/x/arch's decoder, whose tables come from Intel's
// manual and from XED. EVEX is left out: we refuse to execute it.
func TestX86asm(t *testing.T) {
	c := newX86asmComparison()
	for _, escape := range [][]byte{nil, {0x0f}, {0x0f, 0x38}, {0x0f, 0x3a}} {
		enumerateLegacy(c.compare, escape)
	}
	enumerateModRM(c.compare)
	enumerateVEX(c.compare)
	for kind, samples := range c.differences {
		t.Errorf("%s:\n  %s", kind, strings.Join(samples, "\n  "))
	}
	require.Greater(t, len(c.forms), 1300, "forms compared")
	for i, e := range x86asmErrors {
		require.NotZero(t, c.excused[i], "x86asm does not do this any more: %s", e.reason)
	}
}

// An x86asmComparison collects where the two decoders differ.
type x86asmComparison struct {
	forms       map[uint16]bool // of ours, that x86asm knows
	differences map[string][]string
	excused     []int // differences by x86asmErrors' index
}

func newX86asmComparison() *x86asmComparison {
	return &x86asmComparison{map[uint16]bool{}, map[string][]string{}, make([]int, len(x86asmErrors))}
}

// A decoding is one encoding as both decoders see it.
type decoding struct {
	code   []byte // with NOPs behind it
	ours   Inst
	err    error // of ours: refused
	theirs x86asm.Inst
}

// compare decodes b, which NOPs follow. What x86asm does not know is passed over.
func (c *x86asmComparison) compare(b ...byte) {
	var code [stride]byte
	for i := copy(code[:], b); i < len(code); i++ {
		code[i] = 0x90
	}
	d := decoding{code: code[:]}
	var unknown error
	d.theirs, unknown = x86asm.Decode(code[:], 64)
	if unknown != nil || d.theirs.Op == 0 { // 0: a prefix alone
		return
	}
	if d.err = Decode(code[:], &d.ours); d.err == nil {
		c.forms[d.ours.form] = true
	}
	kind := d.difference()
	if kind == "" {
		return
	}
	for i, e := range x86asmErrors {
		if e.applies(&d) {
			c.excused[i]++
			return
		}
	}
	if len(c.differences[kind]) < 3 {
		c.differences[kind] = append(c.differences[kind], fmt.Sprintf("% x: %s; ours: %s", code[:d.theirs.Len], d.theirs, d.ours.Format(0)))
	}
}

// difference names what is different, or returns "".
func (d *decoding) difference() string {
	switch {
	case d.err != nil:
		return "only x86asm decodes " + d.theirs.Op.String()
	case int(d.ours.Len) != d.theirs.Len:
		return "length of " + d.theirs.Op.String()
	case x86asmName(&d.ours) != d.theirs.Op.String():
		return x86asmName(&d.ours) + " or " + d.theirs.Op.String()
	case !d.sameOperands():
		return "operands of " + d.theirs.Op.String()
	}
	return ""
}

// x86asmNames are x86asm's names where they are not Intel's.
var x86asmNames = map[Op]string{
	MOVSD: "MOVSD_XMM", CMPSD: "CMPSD_XMM", CALLF: "LCALL", JMPF: "LJMP", RETF: "LRET", INT1: "ICEBP", INT3: "INT", XLAT: "XLATB",
}

// x86asmName returns the mnemonic that x86asm has for i.
func x86asmName(i *Inst) string {
	name := strings.ToUpper(i.mnemonic())
	switch i.Op {
	case MOV:
		return "MOV" // mnemonic says movabs of some
	case JRCXZ:
		if i.Mem.AddrSize == 4 {
			return "JECXZ"
		}
	case POPF, PUSHF, IRET:
		return name + map[uint8]string{4: "D", 8: "Q"}[i.OpSize]
	}
	if theirs := x86asmNames[i.Op]; theirs != "" {
		return theirs
	}
	return name
}

// sameOperands compares operands. x86asm shows those that string instructions imply, and no ST(0) where memory is the
// other operand or the result goes elsewhere.
func (d *decoding) sameOperands() bool {
	i := &d.ours
	if i.isString() {
		return true
	}
	ours, theirs := i.Args[:i.NArgs], d.theirs.Args[:]
	n := 0
	for n < len(theirs) && theirs[n] != nil {
		n++
	}
	if i.X87 && len(ours) == n+1 {
		k := 0
		if ours[0].Kind == ArgST && ours[0].Reg == 0 {
			k = 1
		}
		ours = ours[k : k+1]
	}
	if len(ours) != n {
		return false
	}
	for k := range ours {
		if !sameOperand(i, &ours[k], theirs[k]) {
			return false
		}
	}
	return true
}

func sameOperand(i *Inst, a *Arg, theirs x86asm.Arg) bool {
	switch a.Kind {
	case ArgMem:
		m, ok := theirs.(x86asm.Mem)
		return ok && sameMemory(i, m)
	case ArgImm:
		imm, ok := theirs.(x86asm.Imm)
		bits := 8 * max(uint(i.OpSize), uint(i.ImmLen))
		return ok && (int64(imm) == a.Imm || uint64(imm)<<(64-bits) == uint64(a.Imm)<<(64-bits))
	case ArgRel:
		return theirs == x86asm.Rel(i.Target)
	}
	return theirs == x86asmRegister(a)
}

// sameMemory compares a memory operand. x86asm does not extend the sign of displacements of 32 bits, shows segments
// that have no effect, and gives a scale to an index that is none.
func sameMemory(i *Inst, theirs x86asm.Mem) bool {
	m := &i.Mem
	want := x86asm.Mem{Disp: int64(int32(m.Disp)), Segment: [...]x86asm.Reg{0, x86asm.FS, x86asm.GS}[m.Seg]}
	rax, rip := x86asm.RAX, x86asm.RIP
	if m.AddrSize == 4 {
		rax, rip = x86asm.EAX, x86asm.EIP
	}
	switch {
	case m.RIPRel:
		want.Base = rip
	case m.Base != NoReg:
		want.Base = rax + x86asm.Reg(m.Base)
	}
	switch {
	case m.VSIB:
		want.Index, want.Scale = x86asmRegister(&Arg{Kind: ArgXMM, Reg: m.Index, Size: uint16(i.NRefs) * uint16(i.IndexSize())}), m.Scale
	case m.Index != NoReg:
		want.Index, want.Scale = rax+x86asm.Reg(m.Index), m.Scale
	}
	if theirs.Index == 0 {
		theirs.Scale = 0
	}
	if theirs.Segment != x86asm.FS && theirs.Segment != x86asm.GS {
		theirs.Segment = 0
	}
	theirs.Disp = int64(int32(theirs.Disp))
	return theirs == want
}

// x86asmRegister returns x86asm's number of a register.
func x86asmRegister(a *Arg) x86asm.Reg {
	reg := x86asm.Reg(a.Reg)
	switch {
	case a.Kind == ArgGPR && a.Size == 1 && a.High8:
		return x86asm.AH + reg
	case a.Kind == ArgGPR && a.Size == 1 && reg >= 4:
		return x86asm.SPB + reg - 4
	case a.Kind == ArgGPR:
		return map[uint16]x86asm.Reg{1: x86asm.AL, 2: x86asm.AX, 4: x86asm.EAX, 8: x86asm.RAX}[a.Size] + reg
	case a.Kind == ArgXMM:
		return map[bool]x86asm.Reg{false: x86asm.X0, true: x86asm.Y0}[a.Size == 32] + reg
	}
	first := map[ArgKind]x86asm.Reg{
		ArgMMX: x86asm.M0, ArgST: x86asm.F0, ArgSeg: x86asm.ES, ArgCR: x86asm.CR0, ArgDR: x86asm.DR0, ArgMask: x86asm.K0,
	}
	return first[a.Kind] + reg
}
