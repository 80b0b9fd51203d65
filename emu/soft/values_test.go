package soft

import "math/rand/v2"

// random returns a number of the format.
func (f *Format) random(r *rand.Rand) uint64 {
	mask := f.signBit()<<1 - 1
	frac := r.Uint64() & (1<<f.fracBits() - 1)
	switch r.IntN(4) { // few bits: exact results, ties
	case 0:
		frac &= ^uint64(0) << r.IntN(int(f.prec))
	case 1:
		frac = ^(frac & (^uint64(0) << r.IntN(int(f.prec)))) & (1<<f.fracBits() - 1)
	case 2:
		frac &= 1<<r.IntN(int(f.prec)) - 1
	}
	exp := f.bias + r.IntN(8) - 4
	switch r.IntN(16) {
	case 0:
		exp = 0
	case 1:
		exp = f.maxExp
	case 2:
		exp = 1 + r.IntN(4)
	case 3:
		exp = f.maxExp - 1 - r.IntN(4)
	case 4:
		exp = r.IntN(f.maxExp)
	case 5:
		exp = f.bias/2 + r.IntN(8) - 4
	case 6:
		exp = f.bias*3/2 + r.IntN(8) - 4
	case 7:
		exp = f.bias + r.IntN(int(f.prec)*2) - int(f.prec)
	case 8:
		exp = f.bias + r.IntN(66)
	}
	return (uint64(max(0, min(exp, f.maxExp)))<<f.fracBits() | frac | r.Uint64()&f.signBit()) & mask
}
