package annotate

import (
	"golang.org/x/arch/x86/x86asm"

	"github.com/cgemu/cgemu/cgout"
)

// asmFormats are the syntaxes that are made from an instruction's bytes.
var asmFormats = map[string]func(x86asm.Inst, uint64, x86asm.SymLookup) string{"gnu": x86asm.GNUSyntax, "go": x86asm.GoSyntax}

// assembly returns in's text in a syntax, or the one in the profile if x86asm does not decode all of in's bytes.
func assembly(in *cgout.Insn, syntax string) string {
	format := asmFormats[syntax]
	if format == nil {
		return in.Text
	}
	inst, err := x86asm.Decode(in.Code, 64)
	if err != nil || inst.Op == 0 || inst.Len != len(in.Code) { // Op is 0 of a prefix alone
		return in.Text
	}
	for i, arg := range inst.Args {
		if m, ok := arg.(x86asm.Mem); ok {
			inst.Args[i] = mendedMemory(m, in.Code)
		}
	}
	return format(inst, in.Addr, nil)
}

// mendedMemory returns m as its formatters show it right. Decode leaves the sign of 32-bit displacements, gives an
// index that is none a scale, and takes RIP-relative addresses for absolute ones where the instruction has a VEX or
// EVEX prefix.
func mendedMemory(m x86asm.Mem, code []byte) x86asm.Mem {
	m.Disp = int64(int32(m.Disp))
	if m.Index == 0 {
		m.Scale = 0
	}
	opcode := map[byte]int{0xc5: 2, 0xc4: 3, 0x62: 4}[code[0]]
	if modRM := opcode + 1; opcode > 0 && modRM < len(code) && code[modRM]&0xc7 == 5 {
		m.Base = x86asm.RIP
	}
	return m
}
