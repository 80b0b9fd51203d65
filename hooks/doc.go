// Package hooks says what executing guest code counts.
//
// An engine asks when it decodes an instruction, and executes what it is told: what an instruction counts is decided
// here and nowhere else. The rules are Cachegrind's as far as they follow from executed instructions alone
// (docs/counting.md). Each has its place: a Plan is what an instruction counts each time (plan.go), a Context what of
// that depends on the instructions in front of it (context.go), Iterations what a REP instruction counts beyond its
// plan (repeat.go), Taken what a conditional branch is recorded as and ReferencesBefore what is left of an instruction
// that faults (outcome.go), RequestAt what asks the tool for something (client.go).
//
// The package is cgemu's own: what it promises may change.
package hooks
