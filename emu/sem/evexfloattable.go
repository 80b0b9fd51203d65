package sem

import (
	"github.com/cgemu/cgemu/emu/soft"
	"github.com/cgemu/cgemu/emu/x86"
)

// evexFloatRows are floating-point instructions; those of FMA are in fmaRows.
func evexFloatRows() parts {
	return join(evexArithmeticRows(), evexCompareFloatRows(), evexConvertRows(), evexIntegerRows())
}

// evexFour returns the rows of an operation on packed and scalar elements of both precisions.
func evexFour(ps, pd, ss, sd x86.Op, f32, f64 floatOp) rows {
	return rows{
		ps: {evex: single.evexPacked(f32, f32)}, pd: {evex: double.evexPacked(f64, f64)},
		ss: {evex: single.evexScalar(f32)}, sd: {evex: double.evexScalar(f64)},
	}
}

// evexFourBy does so with one that an immediate says more about.
func evexFourBy(ps, pd, ss, sd x86.Op, f32, f64 immediateOp) rows {
	return rows{
		ps: {evex: single.evexPackedBy(f32)}, pd: {evex: double.evexPackedBy(f64)},
		ss: {evex: single.evexScalarBy(f32)}, sd: {evex: double.evexScalarBy(f64)},
	}
}

func evexArithmeticRows() parts {
	return join(
		evexFour(x86.VADDPS, x86.VADDPD, x86.VADDSS, x86.VADDSD, soft.Add32, soft.Add64),
		evexFour(x86.VSUBPS, x86.VSUBPD, x86.VSUBSS, x86.VSUBSD, soft.Sub32, soft.Sub64),
		evexFour(x86.VMULPS, x86.VMULPD, x86.VMULSS, x86.VMULSD, soft.Mul32, soft.Mul64),
		evexFour(x86.VDIVPS, x86.VDIVPD, x86.VDIVSS, x86.VDIVSD, soft.Div32, soft.Div64),
		evexFour(x86.VMINPS, x86.VMINPD, x86.VMINSS, x86.VMINSD, soft.Min32, soft.Min64),
		evexFour(x86.VMAXPS, x86.VMAXPD, x86.VMAXSS, x86.VMAXSD, soft.Max32, soft.Max64),
		evexFour(x86.VSQRTPS, x86.VSQRTPD, x86.VSQRTSS, x86.VSQRTSD, ofSecond(soft.Sqrt32), ofSecond(soft.Sqrt64)),
		evexFour(x86.VSCALEFPS, x86.VSCALEFPD, x86.VSCALEFSS, x86.VSCALEFSD, soft.Float32.ScaleF, soft.Float64.ScaleF),
		evexFour(x86.VGETEXPPS, x86.VGETEXPPD, x86.VGETEXPSS, x86.VGETEXPSD, ofSecond(soft.Float32.GetExp), ofSecond(soft.Float64.GetExp)),
		evexFourBy(x86.VGETMANTPS, x86.VGETMANTPD, x86.VGETMANTSS, x86.VGETMANTSD, ofSecondBy(soft.Float32.GetMant), ofSecondBy(soft.Float64.GetMant)),
		evexFourBy(x86.VRNDSCALEPS, x86.VRNDSCALEPD, x86.VRNDSCALESS, x86.VRNDSCALESD, ofSecondBy(soft.Float32.RoundScale), ofSecondBy(soft.Float64.RoundScale)),
		evexFourBy(x86.VREDUCEPS, x86.VREDUCEPD, x86.VREDUCESS, x86.VREDUCESD, ofSecondBy(soft.Float32.Reduce), ofSecondBy(soft.Float64.Reduce)),
		evexFourBy(x86.VRANGEPS, x86.VRANGEPD, x86.VRANGESS, x86.VRANGESD, soft.Float32.Range, soft.Float64.Range),
		evexFour(x86.VRCP14PS, x86.VRCP14PD, x86.VRCP14SS, x86.VRCP14SD, ofSecond(soft.Float32.Rcp14), ofSecond(soft.Float64.Rcp14)),
		evexFour(x86.VRSQRT14PS, x86.VRSQRT14PD, x86.VRSQRT14SS, x86.VRSQRT14SD, ofSecond(soft.Float32.Rsqrt14), ofSecond(soft.Float64.Rsqrt14)),
		rows{
			x86.VFIXUPIMMPS: {evex: single.evexFixUp}, x86.VFIXUPIMMPD: {evex: double.evexFixUp},
			x86.VFIXUPIMMSS: {evex: single.evexFixUp}, x86.VFIXUPIMMSD: {evex: double.evexFixUp},
		},
	)
}

func evexCompareFloatRows() rows {
	return rows{
		x86.VCMPPS: {evex: single.evexCompare(soft.Compare32)}, x86.VCMPPD: {evex: double.evexCompare(soft.Compare64)},
		x86.VCMPSS: {evex: single.evexCompare(soft.Compare32)}, x86.VCMPSD: {evex: double.evexCompare(soft.Compare64)},
		x86.VCOMISS: {evex: single.evexCompareFlags(soft.Compare32, true)}, x86.VCOMISD: {evex: double.evexCompareFlags(soft.Compare64, true)},
		x86.VUCOMISS: {evex: single.evexCompareFlags(soft.Compare32, false)}, x86.VUCOMISD: {evex: double.evexCompareFlags(soft.Compare64, false)},
		x86.VFPCLASSPS: {evex: single.evexClass}, x86.VFPCLASSPD: {evex: double.evexClass},
		x86.VFPCLASSSS: {evex: single.evexClass}, x86.VFPCLASSSD: {evex: double.evexClass},
	}
}

// evexConvertRows convert between precisions.
func evexConvertRows() rows {
	return rows{
		x86.VCVTPS2PD: {evex: evexConverts(4, 8, soft.SingleToDouble)}, x86.VCVTPD2PS: {evex: evexConverts(8, 4, soft.DoubleToSingle)},
		x86.VCVTSS2SD: {evex: evexScalarConverts(4, 8, soft.SingleToDouble)}, x86.VCVTSD2SS: {evex: evexScalarConverts(8, 4, soft.DoubleToSingle)},
		x86.VCVTPH2PS: {evex: evexConverts(2, 4, soft.HalfToSingle)}, x86.VCVTPS2PH: {evex: (*Machine).evexToHalf},
	}
}

// Conversions to integers by what they make, and from them.
var (
	singleToInt, doubleToInt   = withSign(soft.SingleToInt), withSign(soft.DoubleToInt)
	singleToUint, doubleToUint = soft.Float32.ToUint, soft.Float64.ToUint

	singleFromInt64, doubleFromInt64   = fromInt64(soft.IntToSingle), fromInt64(soft.IntToDouble)
	singleFromUint32, doubleFromUint32 = fromUint32(soft.IntToSingle), fromUint32(soft.IntToDouble)
	singleFromUint64, doubleFromUint64 = soft.Float32.FromUint, soft.Float64.FromUint
)

func fromInt64(f fromInt) conversion {
	return func(x uint64, mode soft.Mode) (uint64, uint16) { return f(int64(x), mode) }
}

func fromUint32(f fromInt) conversion {
	return func(x uint64, mode soft.Mode) (uint64, uint16) { return f(int64(uint32(x)), mode) }
}

// evexToIntegers returns the rows of a conversion of elements of size from to integers of size to, and of that which
// truncates.
func evexToIntegers(rounding, truncated x86.Op, from, to int, f toIntegerOp) rows {
	convert := ofWidth(f, uint(8*to))
	return rows{rounding: {evex: evexConverts(from, to, convert)}, truncated: {evex: evexConverts(from, to, truncating(convert))}}
}

// evexIntegerRows convert between numbers and integers.
func evexIntegerRows() parts {
	return join(
		evexToIntegers(x86.VCVTPS2DQ, x86.VCVTTPS2DQ, 4, 4, singleToInt), evexToIntegers(x86.VCVTPD2DQ, x86.VCVTTPD2DQ, 8, 4, doubleToInt),
		evexToIntegers(x86.VCVTPS2QQ, x86.VCVTTPS2QQ, 4, 8, singleToInt), evexToIntegers(x86.VCVTPD2QQ, x86.VCVTTPD2QQ, 8, 8, doubleToInt),
		evexToIntegers(x86.VCVTPS2UDQ, x86.VCVTTPS2UDQ, 4, 4, singleToUint), evexToIntegers(x86.VCVTPD2UDQ, x86.VCVTTPD2UDQ, 8, 4, doubleToUint),
		evexToIntegers(x86.VCVTPS2UQQ, x86.VCVTTPS2UQQ, 4, 8, singleToUint), evexToIntegers(x86.VCVTPD2UQQ, x86.VCVTTPD2UQQ, 8, 8, doubleToUint),
		rows{
			x86.VCVTDQ2PS: {evex: evexConverts(4, 4, singleFromInt32)}, x86.VCVTDQ2PD: {evex: evexConverts(4, 8, doubleFromInt32)},
			x86.VCVTQQ2PS: {evex: evexConverts(8, 4, singleFromInt64)}, x86.VCVTQQ2PD: {evex: evexConverts(8, 8, doubleFromInt64)},
			x86.VCVTUDQ2PS: {evex: evexConverts(4, 4, singleFromUint32)}, x86.VCVTUDQ2PD: {evex: evexConverts(4, 8, doubleFromUint32)},
			x86.VCVTUQQ2PS: {evex: evexConverts(8, 4, singleFromUint64)}, x86.VCVTUQQ2PD: {evex: evexConverts(8, 8, doubleFromUint64)},

			x86.VCVTSI2SS: {evex: single.evexFromInteger(singleFromInt64, true)}, x86.VCVTSI2SD: {evex: double.evexFromInteger(doubleFromInt64, true)},
			x86.VCVTUSI2SS: {evex: single.evexFromInteger(singleFromUint64, false)}, x86.VCVTUSI2SD: {evex: double.evexFromInteger(doubleFromUint64, false)},
			x86.VCVTSS2SI: {evex: single.evexToInteger(singleToInt, false)}, x86.VCVTSD2SI: {evex: double.evexToInteger(doubleToInt, false)},
			x86.VCVTTSS2SI: {evex: single.evexToInteger(singleToInt, true)}, x86.VCVTTSD2SI: {evex: double.evexToInteger(doubleToInt, true)},
			x86.VCVTSS2USI: {evex: single.evexToInteger(singleToUint, false)}, x86.VCVTSD2USI: {evex: double.evexToInteger(doubleToUint, false)},
			x86.VCVTTSS2USI: {evex: single.evexToInteger(singleToUint, true)}, x86.VCVTTSD2USI: {evex: double.evexToInteger(doubleToUint, true)},
		},
	)
}
