package syscalls

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
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

// sysGetrandom implements getrandom(2).
func sysGetrandom(t *Thread, a Args) (uint64, linux.Errno) {
	buf, n, flags := a.Addr(0), min(a.Uint(1), maxRW), a.U32(2)
	if flags&^(linux.GRND_NONBLOCK|linux.GRND_RANDOM|linux.GRND_INSECURE) != 0 || flags&(linux.GRND_RANDOM|linux.GRND_INSECURE) == linux.GRND_RANDOM|linux.GRND_INSECURE {
		return 0, linux.EINVAL
	}
	return t.fillRandom(buf, n)
}

// fillRandom fills n bytes at buf with random ones.
func (t *Thread) fillRandom(buf emu.Addr, n uint64) (uint64, linux.Errno) {
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
		buf += emu.Addr(got)
		if got < len(part) {
			break
		}
	}
	return done, 0
}
