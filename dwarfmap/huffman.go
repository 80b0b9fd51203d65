package dwarfmap

import "math/bits"

// A code is an entry of a decoding table. From the lowest bit: how many bits the
// code has (5 bits), or 0 if there is no such code; how many extra bits follow (5
// bits, from bit 8); its kind; and a number (16 bits), which is a literal, or a
// length or distance to which the extra bits are added.
type code uint32

const (
	codeLiteral = 1 << 13
	// Codes longer than the table's index continue in a second table, which
	// begins at the number; the extra bits are its index.
	codeSecond = 1 << 14
	// The end of the block if the number is 1, else no code.
	codeEnd = 1 << 15
)

func newCode(kind, number, extra int) code { return code(number<<16 | kind | extra<<8) }

func (c code) bits() uint   { return uint(c & 31) }
func (c code) extra() uint  { return uint(c >> 8 & 31) }
func (c code) number() uint { return uint(c >> 16) }

// What the symbols mean (RFC 1951, section 3.2.5), without the bits of their codes:
// literals and lengths, distances, lengths of codes.
var litSymbols, distSymbols, lengthSymbols = symbols()

func symbols() (lit [288]code, dist [32]code, length [19]code) {
	for i := range lit {
		lit[i] = newCode(codeLiteral, i, 0)
	}
	lit[256] = newCode(codeEnd, 1, 0)
	for i := range 28 {
		extra := max(0, i/4-1)
		lit[257+i] = newCode(0, (i-4*extra)<<extra+3, extra)
	}
	lit[285] = newCode(0, maxMatch, 0)
	lit[286], lit[287] = codeEnd, codeEnd
	for i := range 30 {
		extra := max(0, i/2-1)
		dist[i] = newCode(0, (i-2*extra)<<extra+1, extra)
	}
	dist[30], dist[31] = codeEnd, codeEnd
	copy(length[:], lit[:])
	return lit, dist, length
}

const (
	maxBits  = 15  // of a code
	maxMatch = 258 // bytes

	// Bits of the tables' indices. Each second table has two codes or more.
	litBits    = 11
	distBits   = 8
	lengthBits = 7 // longer ones there are not
	litTable   = 1<<litBits + 286/2<<(maxBits-litBits)
	distTable  = 1<<distBits + 30/2<<(maxBits-distBits)
)

// makeTable makes a table, indexed by so many bits, from the lengths of the symbols'
// codes (RFC 1951, section 3.2.2). It reports whether the codes are all that can be,
// or none, or one of a single bit.
func makeTable(table []code, index int, symbols []code, lengths []byte) bool {
	var count [maxBits + 1]int
	for _, n := range lengths {
		count[n]++
	}
	var next [maxBits + 2]int // code of each length
	used, longest := 0, 0
	for n := 1; n <= maxBits; n++ {
		next[n+1] = (next[n] + count[n]) << 1
		used += count[n] << (maxBits - n)
		if count[n] > 0 {
			longest = n
		}
	}
	if used != 1<<maxBits && longest > 1 || used > 1<<maxBits {
		return false
	}
	for i := range table[:1<<index] {
		table[i] = codeEnd
	}
	free := 1 << index // where the next second table begins
	for i, n := range lengths {
		if n == 0 {
			continue
		}
		// Codes come with their first bit lowest.
		at := int(bits.Reverse16(uint16(next[n])) >> (16 - n))
		next[n]++
		part, step := table[:1<<index], 1<<n
		if int(n) > index {
			first := &part[at&(1<<index-1)]
			if *first == codeEnd {
				*first = newCode(codeSecond, free, longest-index)
				free += 1 << (longest - index)
			}
			part, at, step = table[first.number():][:1<<first.extra()], at>>index, step>>index
		}
		for ; at < len(part); at += step {
			part[at] = symbols[i] | code(n)
		}
	}
	return true
}
