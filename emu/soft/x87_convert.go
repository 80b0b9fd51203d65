package soft

// Fxam returns C0, C2 and C3, which tell the class of x, and C1, its sign: SDM Vol. 2, FXAM. An empty register is the
// caller's.
func Fxam(x F80) uint16 {
	codes := [...]uint16{zero: C3, denormal: C3 | C2, normal: C2, infinite: C2 | C0, nan: C0, unsupported: 0}
	status := codes[x.class()]
	if x.neg() {
		status |= C1
	}
	return status
}

// The digits of BCD integers: SDM Vol. 1, "BCD and Packed BCD Integers".
const (
	decimalDigits = 18
	decimalLimit  = 1e18
)

// FromBCD returns a BCD integer. Digits count as far as their four bits do: what invalid ones give is undefined.
func FromBCD(b [10]byte) F80 {
	var n int64
	for i := decimalDigits/2 - 1; i >= 0; i-- {
		n = n*100 + int64(b[i]>>4)*10 + int64(b[i]&15)
	}
	return FromInt(n).f80().withSign(b[9]&0x80 != 0)
}

// ToBCD returns x rounded to a BCD integer, and the status. Where that does not exist, it is the BCD indefinite, with
// IE.
func ToBCD(x F80, cw uint16) ([10]byte, uint16) {
	n, status := ToInt(x.Number(), 64, x87Mode(cw))
	if n <= -decimalLimit || n >= decimalLimit {
		return [10]byte{7: 0xc0, 8: 0xff, 9: 0xff}, IE
	}
	var b [10]byte
	if x.neg() {
		b[9] = 0x80
		n = -n
	}
	for i := range decimalDigits / 2 {
		b[i] = byte(n/10%10<<4 | n%10)
		n /= 100
	}
	return b, status
}

// ToInteger returns x rounded to a signed integer of width bits; see ToInt.
func ToInteger(x F80, width uint, cw uint16) (int64, uint16) {
	return ToInt(x.Number(), width, x87Mode(cw))
}

// The constants that x87 has besides those of the transcendental instructions.
var (
	log2ten  = wide{exp: 1, m: u128{0xd49a784bcd1b8afe, 0x492bf6ff4dafdb4d}}
	log10of2 = wide{exp: -2, m: u128{0x9a209a84fbcff798, 0x8f8959ac0b7c9178}}
)

// Fldpi, Fldl2t, Fldl2e, Fldlg2 and Fldln2 return what these instructions load: SDM Vol. 1, "Pi", and Vol. 2, "FLD1/…".
// Rounding control decides the last bit.
func Fldpi(cw uint16) F80  { return pi.constant(cw) }
func Fldl2t(cw uint16) F80 { return log2ten.constant(cw) }
func Fldl2e(cw uint16) F80 { return log2e.constant(cw) }
func Fldlg2(cw uint16) F80 { return log10of2.constant(cw) }
func Fldln2(cw uint16) F80 { return ln2.constant(cw) }

func (w wide) constant(cw uint16) F80 { return w.rounded80(cw).Value }
