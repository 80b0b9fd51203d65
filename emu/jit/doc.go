// Package jit is the engine for amd64 Linux hosts: it translates guest code to
// host code of the same instruction set.
//
// Guest registers live in the host registers of the same name, RSP included (but for two where caches are simulated:
// away.go), and instructions are copied. What changes: a memory operand gets a GS prefix, GS base being the host
// address of guest address 0; pushes, pops, calls and returns are written out, since the host's would use RSP as a host
// address; direct branches are chained, indirect ones go through a table that has an entry for every guest address;
// instructions whose result depends on the host are emulated in Go.
//
// Each block counts its entries, and its side exits where it goes on past a
// conditional jump; counts by instruction follow at the end. Generated code leaves
// flags and registers as the guest has them; where it needs one it uses what is
// overwritten next, or saves and restores it, and the block's table of saved
// registers says where the guest's value is if a fault comes in between.
//
// The way of a block through the files: Engine.Run (jit.go) looks its address up (blocktable.go), or finds it retained
// (retained.go), or has it made (translate.go, with the state in translation.go): decode.go reads its instructions,
// sim*.go plan what is simulated, insn.go, memop.go, branch.go, linkage.go and rep.go emit its code by the assembler
// (asm.go), spilling registers where they need some (spill.go, away.go). links.go connects it with others,
// jumptable_unsafe.go lets indirect jumps find it, and shadowstack_unsafe.go returns. codecache.go and arena_unsafe.go
// keep it, lists.go what is known of it (packedinsns.go of its instructions), and image.go and imagewriter.go both for
// the next run, invalidate.go and interrupt.go part it from others, fault.go, trap.go and step.go handle what it cannot
// do itself, and counters.go makes counts of its counters. callcode.go and totals.go emit what records calls, for
// calls.go, and xstate.go what loads and stores vectors. answers.go, approximateroutine.go, refine.go and
// x87function.go emit what spares a way to Go. purpose.go tells what code is for.
//
// Host addresses appear as arena offsets: the state block, the counters and the code
// lie in one mapping and reach each other RIP-relative.
//
// The package is cgemu's own: what it promises may change.
package jit
