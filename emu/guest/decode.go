package guest

import (
	"bytes"
	"fmt"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/emu/x86"
	"github.com/cgemu/cgemu/hooks"
)

// An Insn is a decoded instruction in guest memory.
type Insn struct {
	x86.Inst
	PC    emu.Addr
	Bytes []byte // its encoding
	Kind  Kind
}

// Next returns the address behind the instruction.
func (g *Insn) Next() emu.Addr { return g.PC + emu.Addr(g.Len) }

// Far reports whether g is a far transfer, which package sem executes: it may go on anywhere.
func (g *Insn) Far() bool { return g.Op == x86.IRET || g.Op == x86.RETF || g.Op == x86.JMPF }

// Dest returns where a direct branch goes.
func (g *Insn) Dest() emu.Addr { return g.Next() + emu.Addr(g.Target) }

// A Decoder decodes guest code.
type Decoder struct {
	mem      *mem.Space
	features *[256]bool
	lacks    string
	// Code read ahead.
	lo  emu.Addr
	buf [512]byte
	n   int
}

// NewDecoder returns a decoder for a guest that may use instructions of some features. Where the guest's CPU has
// others, messages say who lacks them: the "host's CPU", or this "engine".
func NewDecoder(m *mem.Space, features *[256]bool, lacks string) *Decoder {
	return &Decoder{mem: m, features: features, lacks: lacks}
}

// Forget drops the code read ahead: it may have changed.
func (d *Decoder) Forget() { d.n = 0 }

// at returns the code bytes at a, up to 32 of them, fewer where code ends.
func (d *Decoder) at(a emu.Addr) []byte {
	if a < d.lo || d.n < 32 || a-d.lo > emu.Addr(d.n-32) {
		d.lo = a
		d.n = d.mem.Fetch(a, d.buf[:])
	}
	off := int(a - d.lo)
	return d.buf[off:min(off+32, d.n)]
}

// requestKinds has the kind of each client request.
var requestKinds = [...]Kind{
	hooks.CallTool: Client, hooks.OriginalAddr: NRAddr, hooks.CallOriginal: CallNoRedir, hooks.Inject: Nop,
}

// Decode decodes the instruction at a into g. ok is false if no byte of it can be fetched.
func (d *Decoder) Decode(g *Insn, a emu.Addr) (ok bool) {
	code := d.at(a)
	if len(code) == 0 {
		return false
	}
	g.PC = a
	if r := hooks.RequestAt(code); r != hooks.NoRequest {
		g.Inst = x86.Inst{Len: hooks.RequestLen}
		if r == hooks.CallOriginal {
			g.NRefs, g.Refs[0] = 1, x86.Ref{Kind: x86.Write, At: x86.AtRSP, Size: 8, Off: -8}
		}
		g.Kind = requestKinds[r]
		g.Bytes = append(g.Bytes[:0], code[:hooks.RequestLen]...)
		return true
	}
	err := x86.Decode(code[:min(len(code), x86.MaxLen)], &g.Inst)
	if err == x86.ErrTruncated && len(code) < x86.MaxLen {
		// The instruction runs into memory that cannot be executed.
		g.Inst = x86.Inst{Len: uint8(len(code))}
		g.Kind = FetchFault
		g.Bytes = append(g.Bytes[:0], code...)
		return true
	}
	if err != nil { // which any of these bytes may have decided
		code = code[:min(len(code), x86.MaxLen)]
		g.Inst = x86.Inst{Len: uint8(len(code))}
		g.Kind = Unknown
		if err == x86.ErrTooLong {
			g.Kind = TooLong
		}
		g.Bytes = append(g.Bytes[:0], code...)
		return true
	}
	g.Bytes = append(g.Bytes[:0], code[:g.Len]...)
	if (g.Op == x86.TZCNT || g.Op == x86.LZCNT) && !d.features[g.Feature] {
		ignoreRep(g)
	}
	g.Kind = classify(&g.Inst, d.features)
	return true
}

// ignoreRep makes TZCNT and LZCNT the BSF and BSR they are on CPUs that ignore their F3 prefix, which stays in Bytes.
func ignoreRep(g *Insn) {
	var room [x86.MaxLen]byte
	code := append(room[:0], g.Bytes...)
	for i, b := range code[:g.NPrefix] {
		if b == prefixRep {
			code[i] = prefixDS // is ignored, too
		}
	}
	if err := x86.Decode(code, &g.Inst); err != nil {
		panic("BUG: TZCNT without F3 is not BSF: " + err.Error())
	}
}

const (
	prefixRep = 0xf3
	prefixDS  = 0x3e
)

// IgnoresRep reports whether g has an F3 prefix that the guest's CPU ignores, though the host's may not.
func (g *Insn) IgnoresRep() bool {
	return (g.Op == x86.BSF || g.Op == x86.BSR) && bytes.IndexByte(g.Bytes[:g.NPrefix], prefixRep) >= 0
}

// Refuse says what happens at an instruction that is not executed: it is undefined, unknown, or not supported for a
// guest with the Decoder's features.
func (d *Decoder) Refuse(g *Insn, model *emu.Model) emu.Fault {
	switch g.Kind {
	case Undefined:
		return emu.Fault{Vector: emu.VecUD}
	case TooLong:
		return emu.Fault{Vector: emu.VecGP}
	case Unsupported:
		name := g.Op.String()
		needs := g.Feature
		switch {
		case d.features[needs] && g.Enc == x86.VEX && !d.features[x86.FeatAVX]:
			needs = x86.FeatAVX
		case d.features[needs] && g.Enc == x86.EVEX && !d.features[x86.FeatAVX512F]:
			needs = x86.FeatAVX512F
		}
		if !d.features[needs] {
			name += " (" + needs.String()
			if has := modelFeature[needs]; has != "" && model.Has(has) {
				name += ", which this " + d.lacks + " lacks"
			}
			name += ")"
		}
		return emu.Fault{Vector: emu.VecUD, Unsupported: fmt.Sprintf("%s: % x", name, g.Bytes)}
	case Unknown:
		return emu.Fault{Vector: emu.VecUD, Unsupported: fmt.Sprintf("an unknown instruction: % x", g.Bytes)}
	default:
		panic(fmt.Sprintf("BUG: an instruction of kind %d is refused: % x", g.Kind, g.Bytes))
	}
}
