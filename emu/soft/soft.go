// Package soft computes the results of the x86 instructions whose results
// differ between CPU makers, or that cgemu does not leave to the host: the
// approximations RCPPS and RSQRTPS, and the x87 transcendentals FSIN, FCOS,
// FSINCOS, FPTAN, FPATAN, F2XM1, FYL2X and FYL2XP1.
//
// Everything is a pure function of its arguments, computed with integers and
// with what IEEE 754 rounds in one way, so that a result has the same bits on
// every host. The model is what a processor does ("the reference" in comments:
// an Intel Xeon, family 6, model 207, stepping 2, measured); the SDM decides
// less than programs see.
//
// Rcp and Rsqrt equal the reference for every operand. The transcendentals do
// for every special operand and nearly every other, else their last bit
// differs: README.md has the rates. They are computed to more than 110 bits,
// but for the steps where the reference is known to round to its 67, and
// rounded as the control word says.
//
// Invalid operands do not lead to an error: as in hardware the Result has a
// flag and a default value.
package soft
