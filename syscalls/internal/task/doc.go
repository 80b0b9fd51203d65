// Package task has processes and threads, and everything that decides when and how they run: the machines (address
// space and engine) that they run on, the scheduler, clocks and timers, signals, futexes, job control, and the system
// call that a thread is in. It knows nothing of files, sockets or other objects of system calls.
//
// One goroutine runs all guest threads, one at a time: Kernel.Run picks a thread, lets its engine execute it, and acts
// on the reason for which the engine stops (run.go). So nothing here needs a lock, but for the two things that other
// goroutines touch: Kernel.Canceled and Kernel.running.
//
// A system call is done by a Handler in the table that NewKernel is given. A handler that has to wait returns what
// Thread.Block returns: the thread is then in Kernel.Waiting, with a Wait, which says what ends the wait, and a
// function, which goes on with the call (block.go). So an Errno of what may wait can be EBlocked, which is no failure:
// a handler that has something to do afterwards does it by Thread.Then. Thread.finish alone turns results into RAX
// (call.go).
//
// The packages above keep their state in a Kernel and its threads, as interfaces or as values whose type only they
// know: Kernel.FS, IPC, Net and TTY, and Thread.Files.
//
// Times are in nanoseconds. On the virtual clock an instruction takes one and a system call CallPrice. When all threads
// sleep, the clock moves on to the next deadline at once (RATIONALE.md, "Virtual time: one instruction is one
// nanosecond, one system call 250").
package task
