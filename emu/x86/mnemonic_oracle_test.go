//go:build oracles

package x86

import "strings"

// conditions are the names objdump gives condition codes.
var conditions = [16]string{"o", "no", "b", "ae", "e", "ne", "be", "a", "s", "ns", "p", "np", "l", "ge", "le", "g"}

// aliases are mnemonics of objdump that differ from Intel's, or that name an
// instruction more narrowly than an Op does.
var aliases = map[Op][]string{
	MOV: {"movabs"}, NOP: {"xchg"}, CALLF: {"call"}, JMPF: {"jmp"}, JRCXZ: {"jecxz"},
	FENI: {"fneni(8087"}, FDISI: {"fndisi(8087"}, FSETPM: {"fnsetpm(287"},
}

// pseudo are the Ops for which objdump has a name for each immediate: what
// such names begin and end with.
var pseudo = map[Op][2]string{
	PCLMULQDQ: {"pclmul", "dq"}, VPCLMULQDQ: {"vpclmul", "dq"},
	CMPPS: {"cmp", "ps"}, CMPPD: {"cmp", "pd"}, CMPSS: {"cmp", "ss"}, CMPSD: {"cmp", "sd"},
	VCMPPS: {"vcmp", "ps"}, VCMPPD: {"vcmp", "pd"}, VCMPSS: {"vcmp", "ss"}, VCMPSD: {"vcmp", "sd"},
	VCMPPH: {"vcmp", "ph"}, VCMPSH: {"vcmp", "sh"},
	VPCMPB: {"vpcmp", "b"}, VPCMPW: {"vpcmp", "w"}, VPCMPD: {"vpcmp", "d"}, VPCMPQ: {"vpcmp", "q"},
	VPCMPUB: {"vpcmp", "ub"}, VPCMPUW: {"vpcmp", "uw"}, VPCMPUD: {"vpcmp", "ud"}, VPCMPUQ: {"vpcmp", "uq"},
	VPCOMB: {"vpcom", "b"}, VPCOMW: {"vpcom", "w"}, VPCOMD: {"vpcom", "d"}, VPCOMQ: {"vpcom", "q"},
	VPCOMUB: {"vpcom", "ub"}, VPCOMUW: {"vpcom", "uw"}, VPCOMUD: {"vpcom", "ud"}, VPCOMUQ: {"vpcom", "uq"},
}

// sameMnemonic reports whether objdump's mnemonic can stand for inst.
func sameMnemonic(mnem string, inst *Inst) bool {
	op := strings.ToLower(inst.Op.String())
	if mnem == op || mnem == op+"w" || mnem == op+"q" || mnem == op+"d" {
		return true
	}
	switch inst.Op {
	case JCC:
		mnem = strings.TrimSuffix(strings.TrimSuffix(mnem, ",pt"), ",pn")
		return mnem == "j"+conditions[inst.Cond]
	case SETCC:
		return mnem == "set"+conditions[inst.Cond]
	case CMOVCC:
		return mnem == "cmov"+conditions[inst.Cond]
	}
	if p, ok := pseudo[inst.Op]; ok {
		return strings.HasPrefix(mnem, p[0]) && strings.HasSuffix(mnem, p[1])
	}
	for _, a := range aliases[inst.Op] {
		if a == mnem {
			return true
		}
	}
	return false
}
