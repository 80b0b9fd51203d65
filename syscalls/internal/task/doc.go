// Package task has what runs: processes, threads and the machines (address space and engine) that they run on; who runs when; clocks
// and timers; signals; futexes; job control; and the call that a thread is in. It knows of no file.
//
// One goroutine runs all threads, one at a time: Kernel.Run picks one, Thread by Thread, and acts on what stops its engine. Nothing
// here needs a lock but what is told from outside (Kernel.Interrupted, and which engine runs).
//
// A system call is a Handler of the table that NewKernel is given. One that has to wait returns what Thread.Block returns: the thread
// is parked with a Wait, which says what ends it, and with the function that goes on with the call. Thread.finish alone turns results
// into RAX.
//
// Packages above keep their state in the Kernel and in threads behind interfaces or as values that only they know the type of:
// Kernel.FS, IPC, Net and TTY, and Thread.Files.
//
// Times are nanoseconds. The virtual clock counts an instruction as one and a system call as CallPrice; it moves on at once when all
// threads sleep (RATIONALE.md, "Virtual time: one instruction is one nanosecond, one system call 250").
package task
