// Package soft is the floating-point arithmetic of x86 in software: all of
// SSE's, AVX's and x87's, with every rounding, exception flag and NaN as a
// processor has them.
//
// Basic arithmetic has one mechanism for all formats, half, single, double and
// double extended precision: operands become Numbers (Format.Unpack, F80.Number,
// FromInt), an operation computes exactly (arith.go), and Format.round rounds
// once. SSE's instructions are methods of Format and take MXCSR as a Mode;
// x87's are functions such as Add, which take the control word and return a
// Result. Both return exceptions as the bits IE to PE. IEEE 754 and the SDM
// say what all of it is.
//
// The approximations RCPPS and RSQRTPS and the x87 transcendentals FSIN, FCOS,
// FSINCOS, FPTAN, FPATAN, F2XM1, FYL2X and FYL2XP1 differ between CPU makers.
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
// rounded as the control word says; for most operands fewer bits decide, by
// routines that generated code calls, too (routines.go).
//
// Invalid operands do not lead to an error: as in hardware the Result has a
// flag and a default value.
//
// The package is cgemu's own: what it promises may change.
package soft
