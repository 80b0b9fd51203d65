//go:build hostcpu

package soft

// oracle_amd64.go asks the host. It is built for measurements only.

import "encoding/binary"

// oracleIn is laid out as the assembly expects it.
type oracleIn struct {
	y, x F80
	cw   uint16
}

//go:noescape
func hostFsin(in *oracleIn, out *[512]byte)

//go:noescape
func hostFcos(in *oracleIn, out *[512]byte)

//go:noescape
func hostFsincos(in *oracleIn, out *[512]byte)

//go:noescape
func hostFptan(in *oracleIn, out *[512]byte)

//go:noescape
func hostFpatan(in *oracleIn, out *[512]byte)

//go:noescape
func hostF2xm1(in *oracleIn, out *[512]byte)

//go:noescape
func hostFyl2x(in *oracleIn, out *[512]byte)

//go:noescape
func hostFyl2xp1(in *oracleIn, out *[512]byte)

// hostCode executes code in place of one instruction. RAX points to in.
//
//go:noescape
func hostCode(in *oracleIn, out *[512]byte, code uintptr)

func hostRcp(x uint32) uint32

func hostRsqrt(x uint32) uint32

var hostFuncs = map[string]func(*oracleIn, *[512]byte){
	"fsin": hostFsin, "fcos": hostFcos, "fsincos": hostFsincos, "fptan": hostFptan,
	"fpatan": hostFpatan, "f2xm1": hostF2xm1, "fyl2x": hostFyl2x, "fyl2xp1": hostFyl2xp1,
}

// A fxImage is what FXSAVE64 stores; the compiler aligns an array of bytes too little.
type fxImage struct {
	space [512 + 16]byte
}

// host executes an instruction on the host and returns the stack from ST(0)
// down, the status word and the number of registers in use.
func host(name string, y, x F80, cw uint16) (st [3]F80, sw uint16, depth int) {
	in := oracleIn{y, x, cw}
	var img fxImage
	area := img.aligned()
	hostFuncs[name](&in, area)
	sw = binary.LittleEndian.Uint16(area[2:])
	for i := range st {
		at := 32 + 16*i
		st[i] = F80{binary.LittleEndian.Uint64(area[at:]), binary.LittleEndian.Uint16(area[at+8:])}
	}
	return st, sw, (8 - int(sw>>11&7)) & 7
}
