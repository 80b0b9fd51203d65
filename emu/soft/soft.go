// Package soft computes the results of the x86 instructions whose results
// differ between CPU makers, or that cgemu does not leave to the host: the
// approximations RCPPS and RSQRTPS, and the x87 transcendentals FSIN, FCOS,
// FSINCOS, FPTAN, FPATAN, F2XM1, FYL2X and FYL2XP1.
//
// Everything is a pure function of its arguments and uses integers, so that a
// result has the same bits on every host. The reference is what a processor
// does, an Intel Xeon of family 6, model 207, stepping 2 ("the reference" in
// comments); the SDM decides less than programs see.
//
// Rcp and Rsqrt equal the reference for every input. The transcendentals are
// computed to some 120 bits and rounded once; the reference computes to some 70
// bits, so that a result whose further bits lie close to a rounding boundary
// may differ in its last bit. oracle_test.go measures how often; the rates are
// in README.md.
//
// Invalid operands do not lead to an error: as in hardware the Result has a
// flag and a default value.
package soft
