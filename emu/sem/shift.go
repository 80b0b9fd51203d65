package sem

import (
	"math/bits"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/x86"
)

const rotateFlags = x86.CF | x86.OF

func shiftRows() rows {
	return rows{
		x86.SHL: {plain: shifts(Shl, x86.StatusFlags)}, x86.SHR: {plain: shifts(Shr, x86.StatusFlags)}, x86.SAR: {plain: shifts(Sar, x86.StatusFlags)},
		x86.ROL: {plain: shifts(Rol, rotateFlags)}, x86.ROR: {plain: shifts(Ror, rotateFlags)},
		x86.RCL: {plain: shifts(rcl, rotateFlags)}, x86.RCR: {plain: shifts(rcr, rotateFlags)},
		x86.SHLD: {plain: doubleShifts(shld)}, x86.SHRD: {plain: doubleShifts(shrd)},
		x86.SHLX: {plain: shiftsWithoutFlags(func(x uint64, n uint, _ uint8) uint64 { return x << n })},
		x86.SHRX: {plain: shiftsWithoutFlags(func(x uint64, n uint, _ uint8) uint64 { return x >> n })},
		x86.SARX: {plain: shiftsWithoutFlags(func(x uint64, n uint, size uint8) uint64 { return uint64(int64(signed(x, size)) >> n) })},
		x86.RORX: {plain: shiftsWithoutFlags(func(x uint64, n uint, size uint8) uint64 { return x>>n | x<<(8*uint(size)-n) })},
	}
}

// countOf masks a count: "to 5 bits, or 6 bits with a 64-bit operand" (SDM Vol. 2, SHL).
func countOf(n uint64, size uint8) uint {
	if size == 8 {
		return uint(n & 63)
	}
	return uint(n & 31)
}

// shifts shifts the first operand by the second. A count of 0 changes no flag.
func shifts(f Arithmetic, writes x86.Flags) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		size := uint8(g.Args[0].Size)
		by, _ := m.get(c, g, 1)
		n := countOf(by, size)
		var flags uint64
		fault := m.modify(c, g, func(x uint64) (r uint64) {
			if n == 0 {
				return x
			}
			r, flags = f(x, uint64(n), size, c.Flags)
			return r
		})
		if fault == nil && n != 0 {
			setFlags(c, writes, flags)
		}
		return fault
	}
}

// topBit returns the highest bit of x.
func topBit(x uint64, size uint8) uint64 { return x >> (8*size - 1) & 1 }

// signed extends x, of size bytes.
func signed(x uint64, size uint8) uint64 {
	n := 64 - 8*uint(size)
	return uint64(int64(x<<n) >> n)
}

// Shl and its kin are what the instructions of these names do; n is not 0 and below 64.
func Shl(x, n uint64, size uint8, _ uint64) (r, after uint64) {
	cf := x << (n - 1) >> (8*size - 1) & 1
	r = truncate(x<<n, size)
	return r, cf | (cf^topBit(r, size))*emu.FlagOF | ResultFlags(r, size)
}

func Shr(x, n uint64, size uint8, _ uint64) (r, after uint64) {
	r = x >> n
	return r, x>>(n-1)&1 | (topBit(r, size)^topBit(r<<1, size))*emu.FlagOF | ResultFlags(r, size)
}

func Sar(x, n uint64, size uint8, _ uint64) (r, after uint64) {
	s := int64(signed(x, size))
	r = truncate(uint64(s>>n), size)
	return r, uint64(s>>(n-1))&1 | ResultFlags(r, size)
}

func Rol(x, n uint64, size uint8, _ uint64) (r, after uint64) {
	k, width := n%(8*uint64(size)), 8*uint64(size)
	r = truncate(x<<k|x>>(width-k), size)
	return r, r&1 | (r&1^topBit(r, size))*emu.FlagOF
}

func Ror(x, n uint64, size uint8, _ uint64) (r, after uint64) {
	k, width := n%(8*uint64(size)), 8*uint64(size)
	r = truncate(x>>k|x<<(width-k), size)
	return r, topBit(r, size) | (topBit(r, size)^topBit(r<<1, size))*emu.FlagOF
}

// rcl rotates CF and x, of size*8+1 bits.
func rcl(x, n uint64, size uint8, flags uint64) (r, after uint64) {
	cf, r := flags&emu.FlagCF, x
	for range n % (8*uint64(size) + 1) {
		r, cf = truncate(r<<1|cf, size), topBit(r, size)
	}
	return r, cf | (cf^topBit(r, size))*emu.FlagOF
}

func rcr(x, n uint64, size uint8, flags uint64) (r, after uint64) {
	cf, r := flags&emu.FlagCF, x
	for range n % (8*uint64(size) + 1) {
		r, cf = r>>1|cf<<(8*size-1), r&1
	}
	return r, cf | (topBit(r, size)^topBit(r<<1, size))*emu.FlagOF
}

// doubleShifts shifts bits of the second operand into the first.
func doubleShifts(f func(x, from uint64, n uint, size uint8) (r, after uint64)) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		size := uint8(g.Args[0].Size)
		by, _ := m.get(c, g, 2)
		n, from := countOf(by, size), getReg(c, &g.Args[1])
		both := func(x uint64, n uint, size uint8, _ uint64) (r, after uint64) { return f(x, from, n, size) }
		var flags uint64
		fault := m.modify(c, g, func(x uint64) (r uint64) {
			if n == 0 {
				return x
			}
			r, flags = both(x, n, size, c.Flags)
			return r
		})
		if fault == nil && n != 0 {
			setFlags(c, x86.StatusFlags, flags)
		}
		return fault
	}
}

// shld implements SHLD. With 16 bits and a larger count the result is undefined; Intel's CPUs take the first operand's
// bits again behind those of the second.
func shld(x, from uint64, n uint, size uint8) (r, after uint64) {
	var cf uint64
	if width := 8 * uint(size); size == 2 {
		three := x<<32 | from<<16 | x
		cf = three << 16 >> (64 - n) & 1
		r = truncate(three<<n>>32, size)
	} else {
		cf = x >> (width - n) & 1
		r = truncate(x<<n|from>>(width-n), size)
	}
	return r, cf | (topBit(x, size)^topBit(r, size))*emu.FlagOF | ResultFlags(r, size)
}

func shrd(x, from uint64, n uint, size uint8) (r, after uint64) {
	var cf uint64
	if width := 8 * uint(size); size == 2 {
		three := x<<32 | from<<16 | x
		cf = three >> (n - 1) & 1
		r = truncate(three>>n, size)
	} else {
		cf = x >> (n - 1) & 1
		r = truncate(x>>n|from<<(width-n), size)
	}
	return r, cf | (topBit(r, size)^topBit(r<<1, size))*emu.FlagOF | ResultFlags(r, size)
}

// shiftsWithoutFlags implements SHLX and its kin, and RORX: the first operand is the second, shifted by the third.
func shiftsWithoutFlags(f func(x uint64, n uint, size uint8) uint64) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		size := uint8(g.Args[0].Size)
		x, fault := m.get(c, g, 1)
		if fault != nil {
			return fault
		}
		by, _ := m.get(c, g, 2)
		putReg(c, &g.Args[0], f(x, countOf(by, size), size))
		return nil
	}
}

// highHalf returns the upper half of a product of two signed numbers.
func highHalf(a, b uint64) uint64 {
	hi, _ := bits.Mul64(a, b)
	return hi - a*(b>>63) - b*(a>>63)
}
