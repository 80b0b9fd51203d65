// Package syscalls is Linux as the guest sees it: processes, threads, signals,
// files, sockets, clocks and futexes behind the x86-64 system call table.
//
// A Kernel loads a program, runs its threads on engines, one at a time, and acts
// on what stops them. All that a run can observe is determined by its
// inputs (docs/manual.md, "Determinism"): time is counted in executed instructions,
// random numbers come from a seeded generator, identities are made up, threads
// are switched at blocking calls and after a fixed number of instructions. Where
// the host shows through (terminals, pipes from outside, file times) the manual
// says so.
//
// This package has the table and the handlers, by family. What they work on is in packages below it, in
// syscalls/internal (docs/internals.md, "The plan"): numbers, flags and errno values are Linux's on x86-64, in package
// linux; all that depends on the host is in package host. Addresses are guest virtual addresses, times nanoseconds.
//
// A handler returns a result and an error; Thread.finish of package task alone turns the pair into RAX. A handler that
// cannot finish returns what task.Thread.Block returns: the thread waits, and the function that Block was given goes on
// with the call.
//
// The package is cgemu's own: what it promises may change.
package syscalls

//go:generate go test -run ^TestSupportTable$ -update .
