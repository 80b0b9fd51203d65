//go:build hostcpu

package soft

// oracle_sse_amd64.go asks the host for SSE's arithmetic. It is built for measurements only.

// sseIn and sseOut are laid out as the assembly expects them.
type sseIn struct {
	x, y, z uint64
	mode    Mode
}

type sseOut struct {
	value       uint64
	mxcsr, host Mode
}

//go:noescape
func hostAdd32(in *sseIn, out *sseOut)

//go:noescape
func hostAdd64(in *sseIn, out *sseOut)

//go:noescape
func hostSub32(in *sseIn, out *sseOut)

//go:noescape
func hostSub64(in *sseIn, out *sseOut)

//go:noescape
func hostMul32(in *sseIn, out *sseOut)

//go:noescape
func hostMul64(in *sseIn, out *sseOut)

//go:noescape
func hostDiv32(in *sseIn, out *sseOut)

//go:noescape
func hostDiv64(in *sseIn, out *sseOut)

//go:noescape
func hostMin32(in *sseIn, out *sseOut)

//go:noescape
func hostMin64(in *sseIn, out *sseOut)

//go:noescape
func hostMax32(in *sseIn, out *sseOut)

//go:noescape
func hostMax64(in *sseIn, out *sseOut)

//go:noescape
func hostSqrt32(in *sseIn, out *sseOut)

//go:noescape
func hostFMA32(in *sseIn, out *sseOut)

//go:noescape
func hostRound32(in *sseIn, out *sseOut)

//go:noescape
func hostCompare32(in *sseIn, out *sseOut)

//go:noescape
func hostToInt32From32(in *sseIn, out *sseOut)

//go:noescape
func hostToInt64From32(in *sseIn, out *sseOut)

//go:noescape
func hostFromInt32To32(in *sseIn, out *sseOut)

//go:noescape
func hostFromInt64To32(in *sseIn, out *sseOut)

//go:noescape
func hostSqrt64(in *sseIn, out *sseOut)

//go:noescape
func hostFMA64(in *sseIn, out *sseOut)

//go:noescape
func hostRound64(in *sseIn, out *sseOut)

//go:noescape
func hostCompare64(in *sseIn, out *sseOut)

//go:noescape
func hostToInt32From64(in *sseIn, out *sseOut)

//go:noescape
func hostToInt64From64(in *sseIn, out *sseOut)

//go:noescape
func hostFromInt32To64(in *sseIn, out *sseOut)

//go:noescape
func hostFromInt64To64(in *sseIn, out *sseOut)

//go:noescape
func hostConvert32To64(in *sseIn, out *sseOut)

//go:noescape
func hostConvert64To32(in *sseIn, out *sseOut)

//go:noescape
func hostConvert16To32(in *sseIn, out *sseOut)

//go:noescape
func hostConvert32To16(in *sseIn, out *sseOut)

// hostSSE has the instructions, each with what it is to agree with.
var hostSSE = map[string]func(*sseIn, *sseOut){
	"Add32":         hostAdd32,
	"Add64":         hostAdd64,
	"Sub32":         hostSub32,
	"Sub64":         hostSub64,
	"Mul32":         hostMul32,
	"Mul64":         hostMul64,
	"Div32":         hostDiv32,
	"Div64":         hostDiv64,
	"Min32":         hostMin32,
	"Min64":         hostMin64,
	"Max32":         hostMax32,
	"Max64":         hostMax64,
	"Sqrt32":        hostSqrt32,
	"FMA32":         hostFMA32,
	"Round32":       hostRound32,
	"Compare32":     hostCompare32,
	"ToInt32From32": hostToInt32From32,
	"ToInt64From32": hostToInt64From32,
	"FromInt32To32": hostFromInt32To32,
	"FromInt64To32": hostFromInt64To32,
	"Sqrt64":        hostSqrt64,
	"FMA64":         hostFMA64,
	"Round64":       hostRound64,
	"Compare64":     hostCompare64,
	"ToInt32From64": hostToInt32From64,
	"ToInt64From64": hostToInt64From64,
	"FromInt32To64": hostFromInt32To64,
	"FromInt64To64": hostFromInt64To64,
	"Convert32To64": hostConvert32To64,
	"Convert64To32": hostConvert64To32,
	"Convert16To32": hostConvert16To32,
	"Convert32To16": hostConvert32To16,
}
