//go:build unicorn && linux && amd64

package enginetest

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/cachesim"
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/emu/unicorn"
	"github.com/cgemu/cgemu/emu/x86"
)

func init() {
	engines = append(engines,
		engineUnderTest{name: "unicorn", make: newUnicorn, budget: emu.NoBudget, model: unicornModel, tolerates: tolerateUnicorn, fits: fitsUnicorn},
		engineUnderTest{name: "unicorn with budget", make: newUnicorn, budget: 1 << 40, model: unicornModel, again: true, tolerates: tolerateUnicorn, fits: fitsUnicorn},
		engineUnderTest{
			name: "unicorn simulating", make: newSimulatingUnicorn, budget: emu.NoBudget, model: unicornModel, again: true,
			simulates: true, tolerates: tolerateUnicorn, fits: fitsUnicorn,
		},
	)
	makersOfV1 = append(makersOfV1, func(m *mem.Space, c emu.Config) (e emu.Engine, err error) {
		if c.Model, err = emu.ModelByName(unicorn.FullModel); err != nil {
			return nil, err
		}
		return unicorn.New(m, c)
	})
}

func newUnicorn(m *mem.Space, model *emu.Model, env emu.Env) (emu.Engine, error) {
	return unicorn.New(m, emu.Config{Model: model, Env: env})
}

func newSimulatingUnicorn(m *mem.Space, model *emu.Model, env emu.Env) (emu.Engine, error) {
	return unicorn.New(m, emu.Config{Model: model, Env: env, Caches: &cachesim.Default, Branches: true, Events: ^emu.EventSet(0)})
}

// unicornModel has all the features of the engine.
func unicornModel(t testing.TB) *emu.Model {
	m, err := emu.ModelByName(unicorn.FullModel)
	require.NoError(t, err)
	return m
}

// undefinedFlags are flags that the SDM leaves undefined, by instruction: emulators and CPUs differ in them.
var undefinedFlags = map[x86.Op]x86.Flags{
	x86.MUL: x86.SF | x86.ZF | x86.AF | x86.PF, x86.IMUL: x86.SF | x86.ZF | x86.AF | x86.PF,
	x86.DIV: x86.StatusFlags, x86.IDIV: x86.StatusFlags,
	x86.BSF: x86.StatusFlags &^ x86.ZF, x86.BSR: x86.StatusFlags &^ x86.ZF,
	x86.BT: x86.StatusFlags &^ x86.CF &^ x86.ZF, x86.BTS: x86.StatusFlags &^ x86.CF &^ x86.ZF,
	x86.BTR: x86.StatusFlags &^ x86.CF &^ x86.ZF, x86.BTC: x86.StatusFlags &^ x86.CF &^ x86.ZF,
	x86.SHL: x86.OF | x86.AF | x86.CF, x86.SHR: x86.OF | x86.AF | x86.CF, x86.SAR: x86.OF | x86.AF,
	x86.SHLD: x86.OF | x86.AF | x86.CF, x86.SHRD: x86.OF | x86.AF | x86.CF,
	x86.ROL: x86.OF, x86.ROR: x86.OF, x86.RCL: x86.OF, x86.RCR: x86.OF,
}

// A known is a difference of libunicorn, of all its versions up to 2.1.4 unless said otherwise: which cases
// differ, and what is then made equal; nothing is compared if same is nil.
type known struct {
	reason string
	when   func(c *testCase, want, got *outcome) bool
	same   func(c *testCase, want, got *outcome)
}

var knownDifferences = []known{
	{
		"undefined flags are its own",
		func(c *testCase, want, got *outcome) bool { return undefinedFlags[c.inst.Op] != 0 && c.showsFlags() },
		nil,
	},
	{
		"undefined flags are its own",
		func(c *testCase, want, got *outcome) bool { return undefinedFlags[c.inst.Op] != 0 },
		func(c *testCase, want, got *outcome) {
			mask := uint64(undefinedFlags[c.inst.Op])
			got.state.Flags = got.state.Flags&^mask | want.state.Flags&mask
		},
	},
	{
		"MXCSR's exception flags are not recorded",
		func(c *testCase, want, got *outcome) bool { return sse(c) },
		func(c *testCase, want, got *outcome) { got.state.FP[emu.XOffMXCSR] = want.state.FP[emu.XOffMXCSR] },
	},
	{
		"unmasked SSE exceptions are not raised; unmasking them is refused, by name",
		func(c *testCase, want, got *outcome) bool {
			return sse(c) && want.state.FP[emu.XOffMXCSR+1]&0x1f != 0x1f || want.state.FP[emu.XOffMXCSR]&0x80 == 0
		},
		nil,
	},
	{
		"operands of SSE instructions need not be aligned",
		func(c *testCase, want, got *outcome) bool {
			return want.fault.Vector == emu.VecGP && sse(c) && c.inst.HasMem
		},
		nil,
	},
	{
		"encodings that no assembler makes are refused, by name",
		func(c *testCase, want, got *outcome) bool {
			return got.fault.Vector == emu.VecUD && got.fault.Unsupported != ""
		},
		nil,
	},
	{
		"what MINPS, MAXPS, conversions and NaNs make of denormals is not as DAZ and FTZ have it",
		func(c *testCase, want, got *outcome) bool {
			return sse(c) && (want.state.FP[emu.XOffMXCSR]&0x40 != 0 || want.state.FP[emu.XOffMXCSR+1]&0x80 != 0)
		},
		nil,
	},
	{
		"of two NaNs the result is that with the larger significand, as x87 has it",
		func(c *testCase, want, got *outcome) bool {
			switch c.inst.Op {
			case x86.ADDPS, x86.ADDPD, x86.ADDSS, x86.ADDSD, x86.SUBPS, x86.SUBPD, x86.SUBSS, x86.SUBSD,
				x86.MULPS, x86.MULPD, x86.MULSS, x86.MULSD, x86.DIVPS, x86.DIVPD, x86.DIVSS, x86.DIVSD:
				return true
			case x86.ADDSUBPS, x86.ADDSUBPD, x86.HADDPS, x86.HADDPD, x86.HSUBPS, x86.HSUBPD, x86.DPPS, x86.DPPD:
				return true
			}
			return false
		},
		func(c *testCase, want, got *outcome) {
			at := emu.XOffXMM + 16*int(c.inst.Args[0].Reg)
			w, g := want.state.FP[at:at+16], got.state.FP[at:at+16]
			for i := 0; i < 16; i += 4 {
				if float := math.Float32frombits(binary.LittleEndian.Uint32(w[i:])); float != float {
					copy(g[i:], w[i:i+4])
				}
			}
			for i := 0; i < 16; i += 8 {
				if float := math.Float64frombits(binary.LittleEndian.Uint64(w[i:])); float != float {
					copy(g[i:], w[i:i+8])
				}
			}
		},
	},
	{
		"a CMPXCHG of 32 bits that succeeds clears the upper half of RAX",
		func(c *testCase, want, got *outcome) bool { return c.inst.Op == x86.CMPXCHG && c.inst.OpSize == 4 },
		nil,
	},
	{
		"instructions that read flags and write memory (SETcc, ADC, RCL ...) have changed the flags when they fault",
		func(c *testCase, want, got *outcome) bool {
			return storesByFlags(&c.inst) && want.fault.Vector == emu.VecPF
		},
		func(c *testCase, want, got *outcome) { got.state.Flags = want.state.Flags },
	},
	{
		"MASKMOVQ, MASKMOVDQU, CMPXCHG8B and CMPXCHG16B access their operand in parts, and up to the one that faults",
		func(c *testCase, want, got *outcome) bool {
			switch c.inst.Op {
			case x86.MASKMOVQ, x86.MASKMOVDQU, x86.CMPXCHG8B, x86.CMPXCHG16B:
				return want.fault.Vector == emu.VecPF
			}
			return false
		},
		nil,
	},
	{
		"16 bytes are loaded in parts, and a register has those in front of the one that faults",
		func(c *testCase, want, got *outcome) bool {
			return sse(c) && want.fault.Vector == emu.VecPF && sameFault(want.fault, got.fault)
		},
		func(c *testCase, want, got *outcome) {
			copy(got.state.FP[emu.XOffXMM:emu.XOffHeader], want.state.FP[emu.XOffXMM:])
		},
	},
	{
		"conversions, PUNPCKL and ROUND read more than their operand has, and fault at the end of memory",
		func(c *testCase, want, got *outcome) bool {
			return (sse(c) || mmx(c)) && got.fault.Vector == emu.VecPF && want.fault.Vector != emu.VecPF
		},
		nil,
	},
	{
		"CMPS reads its operands in another order",
		func(c *testCase, want, got *outcome) bool {
			return c.inst.Op == x86.CMPS && want.fault.Vector == emu.VecPF && got.fault.Vector == emu.VecPF
		},
		nil,
	},
	{
		"a 16-bit BSWAP, which is undefined, swaps the lower half",
		func(c *testCase, want, got *outcome) bool { return c.inst.Op == x86.BSWAP && c.inst.OpSize == 2 },
		nil,
	},
	{
		"a CPU may give the start of a locked access across pages as the address of the second page's fault",
		func(c *testCase, want, got *outcome) bool {
			return c.inst.Lock && want.fault.Vector == emu.VecPF && got.fault.Addr.PageAligned() &&
				want.fault.Addr < got.fault.Addr && got.fault.Addr-want.fault.Addr < 16
		},
		func(c *testCase, want, got *outcome) { got.fault.Addr = want.fault.Addr },
	},
	{
		"a store across pages of which the second one faults has written to the first one",
		func(c *testCase, want, got *outcome) bool {
			return want.fault.Vector == emu.VecPF && want.fault.Write && sameFault(want.fault, got.fault) && want.fault.Addr.PageAligned()
		},
		func(c *testCase, want, got *outcome) { got.dump = append([]byte(nil), want.dump...) },
	},
	{
		"MMX instructions do not know pending x87 exceptions, and change the stack top before they fault, or not at all",
		func(c *testCase, want, got *outcome) bool {
			return mmx(c) && (c.inst.Feature == x86.FeatSSSE3 || want.fault.Vector != emu.VecBP || want.state.FP[emu.XOffFSW+1]&0x38 != 0 || c.inst.Op == x86.EMMS)
		},
		nil,
	},
	{
		"MMX instructions leave the upper 16 bits of registers alone",
		func(c *testCase, want, got *outcome) bool { return mmx(c) },
		func(c *testCase, want, got *outcome) {
			w, g := &want.state.FP, &got.state.FP
			copy(g[:emu.XOffFTW+1], w[:emu.XOffFTW+1])
			for i := range 8 {
				copy(g[emu.XOffST+16*i+8:][:2], w[emu.XOffST+16*i+8:])
			}
		},
	},
	{
		"x87 instructions do not know stack faults, nor exceptions that are pending, and record fewer",
		func(c *testCase, want, got *outcome) bool { return c.inst.X87 && !mmx(c) },
		nil,
	},
}

// mmx reports whether a case is one of MMX's instructions, SSE's with MMX registers included.
func mmx(c *testCase) bool {
	for _, a := range c.inst.Args[:c.inst.NArgs] {
		if a.Kind == x86.ArgMMX {
			return true
		}
	}
	return c.inst.Feature == x86.FeatMMX
}

// sse reports whether a case is one of SSE's instructions.
func sse(c *testCase) bool {
	switch c.inst.Feature {
	case x86.FeatSSE, x86.FeatSSE2, x86.FeatSSE3, x86.FeatSSSE3, x86.FeatSSE41, x86.FeatSSE42, x86.FeatAES, x86.FeatPCLMUL:
		return true
	}
	return false
}

// tolerateUnicorn makes got equal to want in what libunicorn is known to do otherwise. It reports false if
// nothing is left to compare.
func tolerateUnicorn(c *testCase, want, got *outcome) (comparable bool) {
	for _, k := range knownDifferences {
		switch {
		case !k.when(c, want, got):
		case k.same != nil:
			k.same(c, want, got)
		default:
			return false
		}
	}
	return true
}

// showsFlags reports whether what follows the instruction reads flags.
func (c *testCase) showsFlags() bool {
	rest := c.all[int(c.at-c.start)+len(c.code):]
	for len(rest) > 0 {
		var i x86.Inst
		if x86.Decode(rest, &i) != nil {
			return false
		}
		if i.FlagsRead != 0 || i.Op == x86.PUSHF {
			return true
		}
		rest = rest[i.Len:]
	}
	return false
}

// storesByFlags reports whether an instruction reads flags and writes memory.
func storesByFlags(i *x86.Inst) bool {
	last := x86.Ref{Kind: x86.Read}
	for r := range i.References {
		last = r
	}
	return i.FlagsRead != 0 && last.Kind != x86.Read
}

// fitsUnicorn leaves out what has known differences.
func fitsUnicorn(i *x86.Inst) bool {
	c := testCase{inst: *i}
	switch i.Op {
	case x86.CMPXCHG, x86.CMPXCHG8B, x86.CMPXCHG16B, x86.BSWAP:
		return false
	}
	return !storesByFlags(i) && !i.X87 && !mmx(&c) && !sse(&c) && undefinedFlags[i.Op] == 0
}
