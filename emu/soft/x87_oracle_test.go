//go:build hostcpu && amd64

package soft

// x87_oracle_test.go compares the instructions on which CPUs agree: every bit has to be the host's.

import (
	"encoding/binary"
	"math/rand/v2"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// codePage maps memory for one instruction.
func codePage(t *testing.T, code ...byte) uintptr {
	page, err := syscall.Mmap(-1, 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE|syscall.PROT_EXEC, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, syscall.Munmap(page)) })
	copy(page, append(code, 0xc3))
	return addressOf(page)
}

// hostExact executes an instruction of codePage. Of in, it may have overwritten x by a result in memory.
func hostExact(code uintptr, in *oracleIn) (st [2]F80, sw uint16) {
	var img fxImage
	area := img.aligned()
	hostCode(in, area, code)
	for i := range st {
		at := 32 + 16*i
		st[i] = F80{binary.LittleEndian.Uint64(area[at:]), binary.LittleEndian.Uint16(area[at+8:])}
	}
	return st, binary.LittleEndian.Uint16(area[2:])
}

const conditions = C0 | C1 | C2 | C3

// stopped reports whether one of some exceptions is in status, and not masked: then no result is written.
func stopped(status, cw, by uint16) bool { return status&by&^cw != 0 }

// exactOps have each instruction's code and what ST(0), ST(1), status and memory are to be behind it. Memory is what
// held x.
var exactOps = []struct {
	name string
	code []byte
	want func(y, x F80, cw uint16) (st [2]F80, status uint16, memory F80)
}{
	{"fadd", []byte{0xd8, 0xc1}, wantBinary(onNumbers(Add))},
	{"fsub", []byte{0xd8, 0xe1}, wantBinary(onNumbers(Sub))},
	{"fmul", []byte{0xd8, 0xc9}, wantBinary(onNumbers(Mul))},
	{"fdiv", []byte{0xd8, 0xf1}, wantBinary(onNumbers(Div))},
	{"fsqrt", []byte{0xd9, 0xfa}, wantUnary(onNumber(Sqrt))},
	{"frndint", []byte{0xd9, 0xfc}, wantUnary(onNumber(RoundToInt))},
	{"fscale", []byte{0xd9, 0xfd}, wantBinary(func(x, y F80, cw uint16) Result { return Fscale(y, x, cw) })},
	{"fprem", []byte{0xd9, 0xf8}, wantBinary(func(x, y F80, cw uint16) Result { return Fprem(y, x, cw) })},
	{"fprem1", []byte{0xd9, 0xf5}, wantBinary(func(x, y F80, cw uint16) Result { return Fprem1(y, x, cw) })},
	{"fxtract", []byte{0xd9, 0xf4}, func(y, x F80, cw uint16) ([2]F80, uint16, F80) {
		r := Fxtract(x, cw)
		if stopped(r.Status, cw, IE|DE|ZE) {
			return [2]F80{x, y}, r.Status, x
		}
		return [2]F80{r.Pushed, r.Value}, r.Status, x
	}},
	{"fcom", []byte{0xd8, 0xd1}, wantCompare(comparison(true))},
	{"fucom", []byte{0xdd, 0xe1}, wantCompare(comparison(false))},
	{"fxam", []byte{0xd9, 0xe5}, wantCompare(func(x, _ F80, _ uint16) uint16 { return Fxam(x) })},
	{"fst float32", []byte{0xd9, 0x50, 16}, wantStore(4, func(x F80, cw uint16) (uint64, uint16) {
		return Store(x.Number(), Float32, cw)
	})},
	{"fst float64", []byte{0xdd, 0x50, 16}, wantStore(8, func(x F80, cw uint16) (uint64, uint16) {
		return Store(x.Number(), Float64, cw)
	})},
	{"fist 16", []byte{0xdf, 0x50, 16}, wantStore(2, roundedInt(16, 0))},
	{"fist 32", []byte{0xdb, 0x50, 16}, wantStore(4, roundedInt(32, 0))},
	{"fld float32", []byte{0xd9, 0x40, 16}, wantLoad(func(x F80, cw uint16) Result { return Load(Float32.Unpack(uint64(uint32(x.Mant))), cw) })},
	{"fld float64", []byte{0xdd, 0x40, 16}, wantLoad(func(x F80, cw uint16) Result { return Load(Float64.Unpack(x.Mant), cw) })},
	{"fild 16", []byte{0xdf, 0x40, 16}, wantLoad(func(x F80, _ uint16) Result { return Result{Value: FromInt(int64(int16(x.Mant))).f80()} })},
	{"fild 32", []byte{0xdb, 0x40, 16}, wantLoad(func(x F80, _ uint16) Result { return Result{Value: FromInt(int64(int32(x.Mant))).f80()} })},
	{"fild 64", []byte{0xdf, 0x68, 16}, wantLoad(func(x F80, _ uint16) Result { return Result{Value: FromInt(int64(x.Mant)).f80()} })},
	{"fbld", []byte{0xdf, 0x60, 16}, wantLoad(func(x F80, _ uint16) Result { return Result{Value: FromBCD(x.bytes())} })},
	{"fistp 64", []byte{0xdf, 0x78, 16}, wantPopStore(8, roundedInt(64, 0))},
	{"fisttp 16", []byte{0xdf, 0x48, 16}, wantPopStore(2, roundedInt(16, 3<<10))},
	{"fisttp 32", []byte{0xdb, 0x48, 16}, wantPopStore(4, roundedInt(32, 3<<10))},
	{"fisttp 64", []byte{0xdd, 0x48, 16}, wantPopStore(8, roundedInt(64, 3<<10))},
	{"fbstp", []byte{0xdf, 0x70, 16}, func(y, x F80, cw uint16) ([2]F80, uint16, F80) {
		b, status := ToBCD(x, cw)
		if stopped(status, cw, IE) {
			return [2]F80{x, y}, status, x
		}
		return [2]F80{y}, status, F80{binary.LittleEndian.Uint64(b[:]), binary.LittleEndian.Uint16(b[8:])}
	}},
}

func (x F80) bytes() (b [10]byte) {
	binary.LittleEndian.PutUint64(b[:], x.Mant)
	binary.LittleEndian.PutUint16(b[8:], x.SE)
	return b
}

func wantBinary(f func(x, y F80, cw uint16) Result) func(y, x F80, cw uint16) ([2]F80, uint16, F80) {
	return func(y, x F80, cw uint16) ([2]F80, uint16, F80) {
		r := f(x, y, cw)
		if stopped(r.Status, cw, IE|DE|ZE) {
			return [2]F80{x, y}, r.Status, x
		}
		return [2]F80{r.Value, y}, r.Status, x
	}
}

func wantUnary(f func(x F80, cw uint16) Result) func(y, x F80, cw uint16) ([2]F80, uint16, F80) {
	return wantBinary(func(x, _ F80, cw uint16) Result { return f(x, cw) })
}

func wantCompare(f func(x, y F80, cw uint16) uint16) func(y, x F80, cw uint16) ([2]F80, uint16, F80) {
	return func(y, x F80, cw uint16) ([2]F80, uint16, F80) { return [2]F80{x, y}, f(x, y, cw), x }
}

func roundedInt(size uint, rounding uint16) func(x F80, cw uint16) (uint64, uint16) {
	return func(x F80, cw uint16) (uint64, uint16) {
		n, s := ToInt(x.Number(), size, x87Mode(cw|rounding))
		return uint64(n), s
	}
}

func onNumber(f func(a Number, cw uint16) Result) func(a F80, cw uint16) Result {
	return func(a F80, cw uint16) Result { return f(a.Number(), cw) }
}

func onNumbers(f func(a, b Number, cw uint16) Result) func(a, b F80, cw uint16) Result {
	return func(a, b F80, cw uint16) Result { return f(a.Number(), b.Number(), cw) }
}

func comparison(signaling bool) func(a, b F80, cw uint16) uint16 {
	return func(a, b F80, _ uint16) uint16 {
		r, status := Compare(a.Number(), b.Number(), signaling)
		return status | map[Relation]uint16{Less: C0, Equal: C3, Unordered: C0 | C2 | C3}[r]
	}
}

func wantStore(size int, f func(x F80, cw uint16) (uint64, uint16)) func(y, x F80, cw uint16) ([2]F80, uint16, F80) {
	return func(y, x F80, cw uint16) ([2]F80, uint16, F80) {
		b, status := f(x, cw)
		m := x
		if !stopped(status, cw, IE|OE|UE) {
			mask := uint64(1)<<(8*size) - 1
			m.Mant = m.Mant&^mask | b&mask
		}
		return [2]F80{x, y}, status, m
	}
}

func wantPopStore(size int, f func(x F80, cw uint16) (uint64, uint16)) func(y, x F80, cw uint16) ([2]F80, uint16, F80) {
	return func(y, x F80, cw uint16) ([2]F80, uint16, F80) {
		st, status, m := wantStore(size, f)(y, x, cw)
		if !stopped(status, cw, IE|OE|UE) {
			st = [2]F80{y}
		}
		return st, status, m
	}
}

// wantLoad has denormal operands loaded even if their exception is not masked.
func wantLoad(f func(x F80, cw uint16) Result) func(y, x F80, cw uint16) ([2]F80, uint16, F80) {
	return func(y, x F80, cw uint16) ([2]F80, uint16, F80) {
		r := f(x, cw)
		if stopped(r.Status, cw, IE) {
			return [2]F80{x, y}, r.Status, x
		}
		return [2]F80{r.Value, x}, r.Status, x
	}
}

// exactOperand returns numbers of all kinds, of which many meet at a limit.
func exactOperand(r *rand.Rand, edges []F80) F80 {
	switch r.IntN(12) {
	case 0, 1:
		return edges[r.IntN(len(edges))]
	case 2:
		return randomF80(r, -16382, 16383)
	case 3: // around the ends of float64 and float32
		near := []int{-1074, -1022, 1023, -149, -126, 127, -16382, 16383}[r.IntN(8)]
		x := randomF80(r, max(near-2, -16382), min(near+2, 16383))
		x.Mant &^= 1<<r.IntN(64) - 1
		return F80{x.Mant | integer, x.SE}
	case 4: // few bits
		x := randomF80(r, -5, 70)
		return F80{x.Mant&(^uint64(0)<<r.IntN(64)) | integer, x.SE}
	case 5: // rounded up to the next power
		x := randomF80(r, -70, 70)
		return F80{^uint64(0) << r.IntN(44), x.SE}
	case 6: // denormal
		return F80{r.Uint64() >> r.IntN(64), 0}.withSign(r.IntN(2) == 1)
	case 7: // beyond what FSCALE can bring back
		return FromInt(int64(r.IntN(1<<18)-1<<17) >> r.IntN(3)).f80()
	case 8, 9, 10:
		return random80(r)
	}
	return randomF80(r, -3, 66)
}

// TestOracleExact compares results, status and memory with the host for every precision, rounding and mask.
func TestOracleExact(t *testing.T) {
	edges := edgeOperands()
	random := 2_000_000
	if testing.Short() {
		random = 40_000
	}
	for _, op := range exactOps {
		t.Run(op.name, func(t *testing.T) {
			code := codePage(t, op.code...)
			failures := 0
			check := func(y, x F80, cw uint16) {
				in := oracleIn{y, x, cw}
				st, sw := hostExact(code, &in)
				wantST, status, memory := op.want(y, x, cw)
				if sw>>11&7 == 7 { // popped
					st[1] = F80{}
				}
				sw &= flags | conditions
				if wantST == st && status == sw && memory == in.x || failures == 6 {
					return
				}
				failures++
				t.Errorf("cw %04x y %v x %v\n\t got st %v %v status %04x memory %v\n\twant st %v %v status %04x memory %v",
					cw, y, x, wantST[0], wantST[1], status, memory, st[0], st[1], sw, in.x)
			}
			r := rand.New(rand.NewPCG(5, 6))
			for _, x := range edges {
				for _, y := range edges {
					check(y, x, 0x37f)
					check(y, x, uint16(r.IntN(0x1000))&0xf3f|0x40)
				}
			}
			for range random {
				cw := uint16(r.IntN(4)<<8 | r.IntN(4)<<10 | 0x7f)
				if r.IntN(3) == 0 {
					cw &^= uint16(r.IntN(0x40))
				}
				check(exactOperand(r, edges), exactOperand(r, edges), cw)
			}
		})
	}
}

// random80 returns a number of any class.
func random80(r *rand.Rand) F80 {
	x := F80{r.Uint64(), uint16(expBias + r.IntN(8) - 4)}
	switch r.IntN(4) {
	case 0:
		x.Mant &= ^uint64(0) << r.IntN(64)
	case 1:
		x.Mant |= 1<<r.IntN(64) - 1
	case 2:
		x.Mant &^= 1<<r.IntN(64) - 1 ^ 1<<r.IntN(64)
	}
	if r.IntN(16) != 0 {
		x.Mant |= integer
	}
	switch r.IntN(12) {
	case 0:
		x.SE = 0
	case 1:
		x.SE = maxExp
	case 2:
		x.SE = uint16(1 + r.IntN(70))
	case 3:
		x.SE = uint16(maxExp - 1 - r.IntN(4))
	case 4:
		x.SE = uint16(r.IntN(maxExp + 1))
	case 5:
		x.SE = uint16(expBias/2 + r.IntN(8) - 4 - 64*r.IntN(2))
	case 6:
		x.SE = uint16(expBias + r.IntN(70))
	case 7:
		x.Mant, x.SE = 0, 0
	}
	return x.withSign(r.IntN(2) == 1)
}
