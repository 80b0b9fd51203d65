//go:build hostcpu && amd64

package soft

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// softSSE has what the host's instructions are compared with, by their names.
var softSSE = map[string]func(in *sseIn) (uint64, uint16){
	"Compare32":     func(in *sseIn) (uint64, uint16) { return lessMask(Float32, in) },
	"Compare64":     func(in *sseIn) (uint64, uint16) { return lessMask(Float64, in) },
	"Convert32To64": func(in *sseIn) (uint64, uint16) { return Float32.Convert(in.x&0xffffffff, Float64, in.mode) },
	"Convert64To32": func(in *sseIn) (uint64, uint16) { return Float64.Convert(in.x, Float32, in.mode) },
	"Convert16To32": func(in *sseIn) (uint64, uint16) { return HalfToSingle(in.x&0xffff, in.mode) },
	"Convert32To16": func(in *sseIn) (uint64, uint16) { return SingleToHalf(in.x&0xffffffff, in.mode) },
}

func init() {
	for name, f := range map[string]*Format{"32": Float32, "64": Float64} {
		mask := f.signBit()<<1 - 1
		for op, do := range map[string]func(x, y uint64, mode Mode) (uint64, uint16){
			"Add": f.Add, "Sub": f.Sub, "Mul": f.Mul, "Div": f.Div, "Min": f.Min, "Max": f.Max,
		} {
			softSSE[op+name] = func(in *sseIn) (uint64, uint16) { return do(in.x&mask, in.y&mask, in.mode) }
		}
		softSSE["Sqrt"+name] = func(in *sseIn) (uint64, uint16) { return f.Sqrt(in.x&mask, in.mode) }
		softSSE["Round"+name] = func(in *sseIn) (uint64, uint16) { return f.Round(in.x&mask, in.mode) }
		softSSE["FMA"+name] = func(in *sseIn) (uint64, uint16) {
			// 213: the second operand times the first, plus the third
			return f.FMA(in.y&mask, in.x&mask, in.z&mask, in.mode)
		}
		for bits, width := range map[string]uint{"32": 32, "64": 64} {
			softSSE["ToInt"+bits+"From"+name] = func(in *sseIn) (uint64, uint16) {
				i, status := f.ToInt(in.x&mask, width, in.mode)
				return uint64(i) & (1<<width - 1), status
			}
			softSSE["FromInt"+bits+"To"+name] = func(in *sseIn) (uint64, uint16) {
				i := int64(in.x)
				if width == 32 {
					i = int64(int32(in.x))
				}
				return f.FromInt(i, in.mode)
			}
		}
	}
}

// lessMask is CMPLTSS, CMPLTSD.
func lessMask(f *Format, in *sseIn) (uint64, uint16) {
	mask := f.signBit()<<1 - 1
	r, status := f.Compare(in.x&mask, in.y&mask, true, in.mode)
	if r == Less {
		return mask, status
	}
	return 0, status
}

// resultBits says how wide a result is, in hex digits of the name's last number.
func resultMask(name string) uint64 {
	switch name[len(name)-2:] {
	case "16":
		return 1<<16 - 1
	case "32":
		return 1<<32 - 1
	}
	if len(name) > 7 && name[:7] == "ToInt32" {
		return 1<<32 - 1
	}
	return ^uint64(0)
}

// TestOracleSSE compares with the host, with all exceptions masked: Go would not survive the signal.
func TestOracleSSE(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for name, host := range hostSSE {
		t.Run(name, func(t *testing.T) {
			bad := 0
			for range 2_000_000 {
				in := sseIn{randomBits(r, name), randomBits(r, name), randomBits(r, name), randomMode(r)}
				var out sseOut
				host(&in, &out)
				got, status := softSSE[name](&in)
				want, wantStatus := out.value&resultMask(name), uint16(out.mxcsr)&exceptions
				if len(name) > 5 && name[:5] == "ToInt" && name[5:7] == "64" {
					want = out.value
				}
				if got != want || status != wantStatus {
					t.Errorf("%x %x %x mode %x: got %x status %x, want %x %x", in.x, in.y, in.z, in.mode, got, status, want, wantStatus)
					if bad++; bad > 20 {
						break
					}
				}
			}
			require.Zero(t, bad)
		})
	}
}

// randomMode returns a Mode that masks everything.
func randomMode(r *rand.Rand) Mode {
	m := Mode(exceptions)<<modeMasks | Mode(r.IntN(4))<<modeRounding
	if r.IntN(4) == 0 {
		m |= modeDAZ
	}
	if r.IntN(4) == 0 {
		m |= modeFTZ
	}
	return m
}

// randomBits returns an operand for an operation by its name: two numbers of 32 bits, or one of 64, near each other's
// exponents so that all paths are taken; or what is special.
func randomBits(r *rand.Rand, name string) uint64 {
	switch {
	case strings.Contains(name, "FromInt"):
		return uint64(int64(r.Uint64()) >> r.IntN(64))
	case name == "Convert32To16":
		return Float32.random(r)
	case strings.HasPrefix(name, "Convert16"):
		return Float16.random(r)
	case strings.HasSuffix(name, "64") && name != "Convert32To64", name == "Convert64To32":
		return Float64.random(r)
	}
	return Float32.random(r) | Float32.random(r)<<32
}
