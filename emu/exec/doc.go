// Package exec is what engines share: how they are configured, and what they must not do
// each in its own way. It decodes guest code, says how to treat each instruction, and executes
// in Go those that no engine leaves to a CPU, because their results would depend on the host or
// on the engine (design: section 3.1).
//
// A Decoder reads instructions from guest memory; Features says which of them a guest's CPU
// model has, and an instruction's Kind what an engine does with it. A Machine executes one of
// kind Trap on an emu.CPU: nothing has changed if it returns a fault, but for repeated string
// instructions, which end in front of the iteration that faulted. RefAddr computes where an
// instruction refers to, from the registers in front of it.
package exec
