package emu

// A Debug is told what an engine does, for those who look for an error in it or for where a run's time goes. Its
// functions are called from within Run; they must not call the engine, and may keep nothing that they are given. Of the
// engines emu/jit heeds it.
type Debug struct {
	// Block is called with each block that is translated; nil for none.
	Block func(*Block)
	// Step is called behind each instruction executed, or piece of a long REP instruction, with the CPU as it was in
	// front of it and as it is behind it; code has the instruction's bytes. If it is set the engine executes
	// instructions one by one: the counts are the same. nil for none.
	Step func(code []byte, before, after *CPU)
	// Code is called with pieces of code that were generated. nil for none.
	Code func([]Code)
}

// A Code is a piece of the host's code: where it lies, its size in bytes, what it is for, and whether it lies apart
// because it is seldom executed.
type Code struct {
	Addr    uint64
	Size    int
	Purpose string
	Far     bool
}

// A Block is guest code and what an engine made of it.
type Block struct {
	Insns []BlockInsn
	// Tail is the host's code behind that of the last instruction: how the block goes on, and the taken sides of its
	// jumps.
	Tail []byte
	// End says why it ends behind its last instruction. Once says that it runs once and is not found again.
	End      string
	Once     bool
	Counters []BlockCounter
	// Off is where the host's code begins, from the start of the engine's memory; it is the same in every run. Addr is
	// the host's address.
	Off  int
	Addr uint64
}

// Size returns how many bytes the host's code has.
func (b *Block) Size() int {
	n := len(b.Tail)
	for i := range b.Insns {
		n += len(b.Insns[i].Host)
	}
	return n
}

// A BlockInsn is an instruction of a block: where it lies, its bytes, and the host's code for it.
type BlockInsn struct {
	At          Addr
	Guest, Host []byte
}

// A BlockCounter is a counter of a block: its number, the index of the instruction that it belongs to, and what it
// counts there.
type BlockCounter struct {
	Number, Insn int
	What         string
}
