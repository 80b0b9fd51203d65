// Package sem executes single instructions in Go. It has all that a guest may execute: emu/interp has no other
// semantics. emu/jit and emu/unicorn, which leave most instructions to a CPU, execute those here that no engine leaves
// to one, because their result would depend on the host or reach its state (CPUID, RDTSC, x87's transcendentals, the
// saving of state; kind guest.Emulated), those that the CPU of some engine lacks, and some that faulted, again.
//
// A Machine executes an instruction on an emu.CPU. One table says by which function. Nothing has changed if it returns
// a fault, but for repeated string instructions, which end in front of the iteration that faulted, gathers, which have
// done the elements in front of the one that faulted, and MASKMOVQ, which has set x87's stack top and tags.
//
// The package is cgemu's own: what it promises may change.
package sem
