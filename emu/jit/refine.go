//go:build linux && amd64

package jit

import (
	"encoding/binary"

	"github.com/cgemu/cgemu/emu/x86"
)

// Where the host approximates otherwise than the guest's CPU, but has vector registers to spare, RCPPS and RSQRTPS and
// their kin are arithmetic in these: the function of the operand's interval's midpoint, rounded to 13 bits (emu/soft,
// README.md). VRCP14PS and VRSQRT14PS are within 2^-14 of it on every host, and one step of Newton-Raphson makes that
// 2^-27.4 or less; no midpoint has a result so near to the middle of two numbers of 13 bits (2^-25.4 and, of RCPPS,
// 2^-26 is as near as they come). The step's last operation rounds to zero, so that the result stays on its side of
// that. Rounding is part of these instructions: they neither look at MXCSR nor raise exceptions.

// What is worked with. The numbers that registers behind vecOne may have are put back.
const (
	vecOperand  vec = 1
	vecMidpoint vec = 2
	vecGuess    vec = 3
	vecRest     vec = 4
	vecResult       = vecScratch
	maskLanes       = maskBudget
	// maskZeros is the operands that are zeros or denormal.
	maskZeros opmask = 2
)

// What is constant there, words of 32 bits from stRefine on.
const (
	refineSign = iota
	refineInf
	refineQuiet
	refineDefaultNaN
	refineTwiceInf      // of an operand without its sign, shifted to the left
	refineTwiceNormal   // the least normal operand, so
	refineTwiceTooLarge // the least one of RCPPS that has no normal result, so
	refineUp            // half of the last place of 13 bits
	refineKept          // 13 bits
	refineOne
	refineHalf
	refineRcpInterval // the bits that say which interval of RCPPS it is, and the one below them
	refineRcpMiddle
	refineRsqrtInterval
	refineRsqrtMiddle
	refineWords
)

var refineConstants = [refineWords]uint32{
	refineSign: 1 << 31, refineInf: 0xff << 23, refineQuiet: 1 << 22, refineDefaultNaN: 0x3ff << 22,
	refineTwiceInf: 0xff << 24, refineTwiceNormal: 1 << 24, refineTwiceTooLarge: 253 << 24,
	refineUp: 1 << 10, refineKept: ^uint32(1<<11 - 1), refineOne: 127 << 23, refineHalf: 126 << 23,
	refineRcpInterval: ^uint32(1<<12 - 1), refineRcpMiddle: 1 << 11,
	refineRsqrtInterval: ^uint32(1<<13 - 1), refineRsqrtMiddle: 1 << 12,
}

func refineAt(constant int) int { return stRefine + 4*constant }

// prepareRefining makes them.
func (e *Engine) prepareRefining() {
	for i, c := range refineConstants {
		binary.LittleEndian.PutUint32(e.arena.mem[refineAt(i):], c)
	}
}

// emitRefined emits g, an approximation.
func (e *Engine) emitRefined(g *ginsn) {
	dst, scalar := g.Args[0].Reg, isScalar(g.Op)
	e.emitRefinedOperand(g)
	if isRsqrt(g.Op) {
		e.emitRefinedRsqrt()
	} else {
		e.emitRefinedRcp()
	}
	switch {
	case scalar && g.Enc == x86.VEX:
		e.kload(maskLanes, stepAt(1))
		e.vmovdqu64(vecOperand, g.Args[1].Reg)
		e.single(opVPORD.masked(maskLanes), vecOperand, vecResult, vecResult)
		e.vmovdqu32(dst, 0, vecOperand, length128)
	case scalar:
		e.kload(maskLanes, stepAt(1))
		e.vmovdqu32(dst, maskLanes, vecResult, length256)
	case g.Enc == x86.VEX:
		e.vmovdqu32(dst, 0, vecResult, byte(b2i(g.Args[0].Size == 32))) // length128 or length256
	default:
		e.kload(maskLanes, stepAt(1<<4-1))
		e.vmovdqu32(dst, maskLanes, vecResult, length256)
	}
	if k := e.calls; k != nil && k.inRegisters && !k.lanes {
		for v := vecOperand; v <= vecRest; v++ {
			e.vload(v, stepAt(int(v-vecOne)+1))
		}
	}
}

// emitRefinedOperand loads g's operand into vecOperand, as often as there is room, since zeros would take longer.
func (e *Engine) emitRefinedOperand(g *ginsn) {
	source := &g.Args[g.NArgs-1]
	switch {
	case g.HasMem && isScalar(g.Op):
		e.emitScalarOperand(g, func(r x86.Reg) { e.vmovqTo(vecOperand, r) })
	case g.HasMem:
		e.emitOperandByDestination(g)
		e.vmovdqu64(vecOperand, g.Args[0].Reg)
	default:
		e.vmovdqu64(vecOperand, source.Reg)
	}
	const halves, quarters = 0x44, 0
	switch {
	case isScalar(g.Op):
		e.singleFrom(opVBROADCASTSS, vecOperand, vecOperand)
	case source.Size == 32:
		e.repeat(vecOperand, halves)
	default:
		e.repeat(vecOperand, quarters)
	}
}

// emitRefinedRcp makes vecResult of vecOperand.
func (e *Engine) emitRefinedRcp() {
	e.emitMidpoint(refineRcpInterval, refineRcpMiddle)
	e.singleFrom(opVRCP14PS, vecGuess, vecMidpoint)
	e.vbroadcastss(vecRest, 0, refineAt(refineOne))
	e.single(opVFNMADD231PS.rounded(roundNearest), vecRest, vecMidpoint, vecGuess) // 1 - midpoint*guess
	e.single(opVFMADD231PS.rounded(roundToZero), vecGuess, vecGuess, vecRest)
	e.emitRounded()
	e.single(opVPADDD, vecRest, vecOperand, vecOperand)
	e.vpcmpud(maskLanes, vecRest, refineAt(refineTwiceTooLarge), compareAtLeast)
	e.singleOf(opVPANDD.masked(maskLanes), vecResult, vecOperand, refineAt(refineSign))
	e.emitSpecialLanes()
}

// emitRefinedRsqrt is that for RSQRTPS.
func (e *Engine) emitRefinedRsqrt() {
	e.emitMidpoint(refineRsqrtInterval, refineRsqrtMiddle)
	e.singleFrom(opVRSQRT14PS, vecGuess, vecMidpoint)
	// midpoint*guess is its value rounded, in vecRest, and what that lacks.
	e.single(opVMULPS.rounded(roundNearest), vecRest, vecMidpoint, vecGuess)
	e.single(opVFMSUB213PS.rounded(roundNearest), vecMidpoint, vecGuess, vecRest)
	e.vbroadcastss(vecResult, 0, refineAt(refineOne))
	e.single(opVFNMADD231PS.rounded(roundNearest), vecResult, vecRest, vecGuess)
	e.single(opVFNMADD231PS.rounded(roundNearest), vecResult, vecMidpoint, vecGuess) // 1 - midpoint*guess*guess
	e.single(opVMULPS.rounded(roundNearest), vecResult, vecResult, vecGuess)
	e.vbroadcastss(vecRest, 0, refineAt(refineHalf))
	e.single(opVFMADD231PS.rounded(roundToZero), vecGuess, vecResult, vecRest)
	e.emitRounded()
	e.single(opVPADDD, vecRest, vecOperand, vecOperand)
	e.vpcmpud(maskLanes, vecOperand, refineAt(refineInf), compareAtLeast) // infinity, which gives 0, or negative
	e.vpsrad(vecGuess, vecOperand, 31)
	e.singleOf(opVPANDD.masked(maskLanes), vecResult, vecGuess, refineAt(refineDefaultNaN))
	e.emitSpecialLanes()
}

// emitMidpoint makes vecMidpoint and maskZeros of vecOperand: 1 for a zero, since denormal numbers would take longer.
func (e *Engine) emitMidpoint(interval, middle int) {
	e.single(opVPADDD, vecRest, vecOperand, vecOperand)
	e.vpcmpud(maskZeros, vecRest, refineAt(refineTwiceNormal), compareBelow)
	e.singleOf(opVPANDD, vecMidpoint, vecOperand, refineAt(interval))
	e.singleOf(opVPORD, vecMidpoint, vecMidpoint, refineAt(middle))
	e.vbroadcastss(vecMidpoint, maskZeros, refineAt(refineOne))
}

// emitRounded makes vecResult vecGuess, rounded to 13 bits.
func (e *Engine) emitRounded() {
	e.singleOf(opVPADDD, vecResult, vecGuess, refineAt(refineUp))
	e.singleOf(opVPANDD, vecResult, vecResult, refineAt(refineKept))
}

// emitSpecialLanes gives NaNs, zeros and denormal numbers, which count as zeros, their results. vecRest has the operand
// twice.
func (e *Engine) emitSpecialLanes() {
	e.vpcmpud(maskLanes, vecRest, refineAt(refineTwiceInf), compareAbove)
	e.singleOf(opVPORD.masked(maskLanes), vecResult, vecOperand, refineAt(refineQuiet))
	e.singleOf(opVPANDD.masked(maskZeros), vecResult, vecOperand, refineAt(refineSign))
	e.singleOf(opVPORD.masked(maskZeros), vecResult, vecResult, refineAt(refineInf))
}
