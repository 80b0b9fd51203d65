package sem

import (
	"github.com/cgemu/cgemu/emu/soft"
	"github.com/cgemu/cgemu/emu/x86"
)

func floatRows() parts {
	return join(floatArithmeticRows(), floatCompareRows(), floatConvertRows(), fmaRows())
}

func floatArithmeticRows() rows {
	return rows{
		x86.ADDPS: {plain: single.packed(soft.Add32)}, x86.VADDPS: {plain: single.packed(soft.Add32)},
		x86.ADDPD: {plain: double.packed(soft.Add64)}, x86.VADDPD: {plain: double.packed(soft.Add64)},
		x86.ADDSS: {plain: single.scalar(soft.Add32)}, x86.VADDSS: {plain: single.scalar(soft.Add32)},
		x86.ADDSD: {plain: double.scalar(soft.Add64)}, x86.VADDSD: {plain: double.scalar(soft.Add64)},

		x86.SUBPS: {plain: single.packed(soft.Sub32)}, x86.VSUBPS: {plain: single.packed(soft.Sub32)},
		x86.SUBPD: {plain: double.packed(soft.Sub64)}, x86.VSUBPD: {plain: double.packed(soft.Sub64)},
		x86.SUBSS: {plain: single.scalar(soft.Sub32)}, x86.VSUBSS: {plain: single.scalar(soft.Sub32)},
		x86.SUBSD: {plain: double.scalar(soft.Sub64)}, x86.VSUBSD: {plain: double.scalar(soft.Sub64)},

		x86.MULPS: {plain: single.packed(soft.Mul32)}, x86.VMULPS: {plain: single.packed(soft.Mul32)},
		x86.MULPD: {plain: double.packed(soft.Mul64)}, x86.VMULPD: {plain: double.packed(soft.Mul64)},
		x86.MULSS: {plain: single.scalar(soft.Mul32)}, x86.VMULSS: {plain: single.scalar(soft.Mul32)},
		x86.MULSD: {plain: double.scalar(soft.Mul64)}, x86.VMULSD: {plain: double.scalar(soft.Mul64)},

		x86.DIVPS: {plain: single.packed(soft.Div32)}, x86.VDIVPS: {plain: single.packed(soft.Div32)},
		x86.DIVPD: {plain: double.packed(soft.Div64)}, x86.VDIVPD: {plain: double.packed(soft.Div64)},
		x86.DIVSS: {plain: single.scalar(soft.Div32)}, x86.VDIVSS: {plain: single.scalar(soft.Div32)},
		x86.DIVSD: {plain: double.scalar(soft.Div64)}, x86.VDIVSD: {plain: double.scalar(soft.Div64)},

		x86.MINPS: {plain: single.packed(soft.Min32)}, x86.VMINPS: {plain: single.packed(soft.Min32)},
		x86.MINPD: {plain: double.packed(soft.Min64)}, x86.VMINPD: {plain: double.packed(soft.Min64)},
		x86.MINSS: {plain: single.scalar(soft.Min32)}, x86.VMINSS: {plain: single.scalar(soft.Min32)},
		x86.MINSD: {plain: double.scalar(soft.Min64)}, x86.VMINSD: {plain: double.scalar(soft.Min64)},

		x86.MAXPS: {plain: single.packed(soft.Max32)}, x86.VMAXPS: {plain: single.packed(soft.Max32)},
		x86.MAXPD: {plain: double.packed(soft.Max64)}, x86.VMAXPD: {plain: double.packed(soft.Max64)},
		x86.MAXSS: {plain: single.scalar(soft.Max32)}, x86.VMAXSS: {plain: single.scalar(soft.Max32)},
		x86.MAXSD: {plain: double.scalar(soft.Max64)}, x86.VMAXSD: {plain: double.scalar(soft.Max64)},

		x86.SQRTPS: {plain: single.packed(ofSecond(soft.Sqrt32))}, x86.VSQRTPS: {plain: single.packed(ofSecond(soft.Sqrt32))},
		x86.SQRTPD: {plain: double.packed(ofSecond(soft.Sqrt64))}, x86.VSQRTPD: {plain: double.packed(ofSecond(soft.Sqrt64))},
		x86.SQRTSS: {plain: single.scalar(ofSecond(soft.Sqrt32))}, x86.VSQRTSS: {plain: single.scalar(ofSecond(soft.Sqrt32))},
		x86.SQRTSD: {plain: double.scalar(ofSecond(soft.Sqrt64))}, x86.VSQRTSD: {plain: double.scalar(ofSecond(soft.Sqrt64))},

		x86.ADDSUBPS: {plain: single.alternating(soft.Sub32, soft.Add32)}, x86.VADDSUBPS: {plain: single.alternating(soft.Sub32, soft.Add32)},
		x86.ADDSUBPD: {plain: double.alternating(soft.Sub64, soft.Add64)}, x86.VADDSUBPD: {plain: double.alternating(soft.Sub64, soft.Add64)},
		x86.HADDPS: {plain: single.horizontal(soft.Add32)}, x86.VHADDPS: {plain: single.horizontal(soft.Add32)},
		x86.HADDPD: {plain: double.horizontal(soft.Add64)}, x86.VHADDPD: {plain: double.horizontal(soft.Add64)},
		x86.HSUBPS: {plain: single.horizontal(soft.Sub32)}, x86.VHSUBPS: {plain: single.horizontal(soft.Sub32)},
		x86.HSUBPD: {plain: double.horizontal(soft.Sub64)}, x86.VHSUBPD: {plain: double.horizontal(soft.Sub64)},
		x86.DPPS: {plain: single.dotProduct(soft.Mul32, soft.Add32)}, x86.VDPPS: {plain: single.dotProduct(soft.Mul32, soft.Add32)},
		x86.DPPD: {plain: double.dotProduct(soft.Mul64, soft.Add64)}, x86.VDPPD: {plain: double.dotProduct(soft.Mul64, soft.Add64)},

		x86.ROUNDPS: {plain: single.rounding(soft.Round32, precision.packed)}, x86.VROUNDPS: {plain: single.rounding(soft.Round32, precision.packed)},
		x86.ROUNDPD: {plain: double.rounding(soft.Round64, precision.packed)}, x86.VROUNDPD: {plain: double.rounding(soft.Round64, precision.packed)},
		x86.ROUNDSS: {plain: single.rounding(soft.Round32, precision.scalar)}, x86.VROUNDSS: {plain: single.rounding(soft.Round32, precision.scalar)},
		x86.ROUNDSD: {plain: double.rounding(soft.Round64, precision.scalar)}, x86.VROUNDSD: {plain: double.rounding(soft.Round64, precision.scalar)},

		x86.LDMXCSR: {plain: (*Machine).loadMXCSR}, x86.VLDMXCSR: {plain: (*Machine).loadMXCSR},
		x86.STMXCSR: {plain: (*Machine).storeMXCSR}, x86.VSTMXCSR: {plain: (*Machine).storeMXCSR},

		// CPUs differ in all but the first twelve bits of an approximation.
		x86.RCPPS: {emulated: single.packed(approximation(soft.Rcp))}, x86.VRCPPS: {emulated: single.packed(approximation(soft.Rcp))},
		x86.RCPSS: {emulated: single.scalar(approximation(soft.Rcp))}, x86.VRCPSS: {emulated: single.scalar(approximation(soft.Rcp))},
		x86.RSQRTPS: {emulated: single.packed(approximation(soft.Rsqrt))}, x86.VRSQRTPS: {emulated: single.packed(approximation(soft.Rsqrt))},
		x86.RSQRTSS: {emulated: single.scalar(approximation(soft.Rsqrt))}, x86.VRSQRTSS: {emulated: single.scalar(approximation(soft.Rsqrt))},
	}
}
