// Package hooks says what executing guest code counts.
//
// An engine decodes a block, asks for its Plan once, and executes the plan: what
// an instruction counts is decided here and nowhere else. The rules are
// Cachegrind's as far as they follow from executed instructions alone (spec: counting.md).
//
// Counts are kept by code address while the program runs (Ledger) and become costs of
// source lines at the end.
package hooks
