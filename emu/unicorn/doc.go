// Package unicorn is the engine that executes on the Unicorn CPU emulator: libunicorn, found when
// the program runs. It is in builds with the tag unicorn, on Linux for amd64 and arm64; other
// builds have a New that says so.
//
// The library is bound without cgo, by purego. Guest memory is shared with it: each mapping of
// emu/mem is mapped there at the guest's address, with its permissions. A hook in front of every
// instruction, a function in Go assembly with C's calling convention, increments the
// instruction's counter and stops the library in front of what Go has to see: code that was not
// decoded yet, instructions that Go executes (emu/sem) or refuses, marks, the end of a budget.
// With caches or branches simulated, the hook and another one for data references also append to
// a ring, which Go reads when it is full. (See RATIONALE.md, "Why does the Unicorn engine hook
// every instruction?")
//
// The package is cgemu's own: what it promises may change.
package unicorn
