package task

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// A generator makes all random bytes of a run from its seed: getrandom(2), AT_RANDOM, /dev/urandom, RDRAND.
type generator struct {
	src *rand.ChaCha8
}

func (g *generator) seed(seed uint64) {
	var key [32]byte
	copy(key[:], "cgemu random bytes")
	binary.LittleEndian.PutUint64(key[24:], seed)
	g.src = rand.NewChaCha8(key)
}

// Read fills b.
func (g *generator) Read(b []byte) { g.src.Read(b) }

func (g *generator) uint64() uint64 { return g.src.Uint64() }

// FillRandom fills n bytes of memory at buf with random ones, as getrandom(2) does, and returns how many it could.
func (t *Thread) FillRandom(buf emu.Addr, n uint64) (uint64, linux.Errno) {
	b := make([]byte, min(n, 64<<10))
	done := uint64(0)
	for done < n {
		part := b[:min(n-done, uint64(len(b)))]
		t.Kernel.RNG.Read(part)
		got, e := t.Scatter([]uio.Iovec{{Addr: buf, Len: uint64(len(part))}}, part)
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
