package uio

import "github.com/cgemu/cgemu/emu"

// An Iovec is a piece of guest memory, which need not be mapped.
type Iovec struct {
	Addr emu.Addr
	Len  uint64
}

// MaxRW is the most that one read or write transfers (MAX_RW_COUNT).
const MaxRW = 0x7ffff000

// Total is the length of v in bytes.
func Total(v []Iovec) uint64 {
	var n uint64
	for _, x := range v {
		n += x.Len
	}
	return n
}

// First is the first n bytes of v.
func First(v []Iovec, n uint64) []Iovec {
	var out []Iovec
	for _, x := range v {
		if n == 0 {
			break
		}
		x.Len = min(x.Len, n)
		n -= x.Len
		out = append(out, x)
	}
	return out
}

// Skip is v without its first n bytes.
func Skip(v []Iovec, n uint64) []Iovec {
	for len(v) > 0 && n >= v[0].Len {
		n -= v[0].Len
		v = v[1:]
	}
	if n == 0 || len(v) == 0 {
		return v
	}
	rest := append([]Iovec(nil), v...)
	rest[0].Addr += emu.Addr(n)
	rest[0].Len -= n
	return rest
}

// Single is a piece of memory alone, as read(2) and write(2) have it: MaxRW bytes at most.
func Single(a emu.Addr, n uint64) Iovec { return Iovec{a, min(n, MaxRW)} }
