// Package sem executes single instructions in Go: those that no engine leaves to a CPU, because their result would depend on the
// host or reach its state (CPUID, RDTSC, x87's transcendentals, the saving of state), and a few which the CPU of some engine lacks.
//
// A Machine executes an instruction of kind guest.Emulated on an emu.CPU. One table says by which function. Nothing has changed if
// it returns a fault, but for repeated string instructions, which end in front of the iteration that faulted, gathers, which have done the
// elements in front of the one that faulted, and MASKMOVQ, which has set x87's stack top and tags.
//
// The package is cgemu's own: what it promises may change.
package sem
