package syscalls

import (
	"encoding/binary"
	"math/rand/v2"
)

// A generator makes all random bytes of a run, from its seed.
type generator struct {
	src *rand.ChaCha8
}

func (g *generator) seed(seed uint64) {
	var key [32]byte
	copy(key[:], "cgemu random bytes")
	binary.LittleEndian.PutUint64(key[24:], seed)
	g.src = rand.NewChaCha8(key)
}

func (g *generator) read(b []byte) { g.src.Read(b) }

func (g *generator) uint64() uint64 { return g.src.Uint64() }

// Flags of getrandom(2).
const (
	grndNonblock = 1
	grndRandom   = 2
	grndInsecure = 4
)

// sysGetrandom implements getrandom(2).
func sysGetrandom(t *Thread, a Args) (uint64, Errno) {
	buf, n, flags := a.Addr(0), min(a.Uint(1), maxRW), a.U32(2)
	if flags&^(grndNonblock|grndRandom|grndInsecure) != 0 || flags&(grndRandom|grndInsecure) == grndRandom|grndInsecure {
		return 0, EINVAL
	}
	b := make([]byte, min(n, 64<<10))
	done := uint64(0)
	for done < n {
		part := b[:min(n-done, uint64(len(b)))]
		t.k.rng.read(part)
		got, e := t.scatter([]iovec{{buf, uint64(len(part))}}, part)
		if e != 0 && done == 0 {
			return 0, e
		}
		done += uint64(got)
		buf += emuAddr(got)
		if got < len(part) {
			break
		}
	}
	return done, 0
}
