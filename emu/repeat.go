package emu

// A repeated string instruction is executed in pieces, so that an interrupt and a budget are heeded within it; see
// Engine.Run for what its iterations take off a budget.

// MaxRepeat is how many iterations of a repeated string instruction a budget takes for one instruction.
const MaxRepeat = 1 << 16

// MaxPiece is how many iterations of a repeated string instruction an engine makes at most before it sees whether it
// was interrupted: some milliseconds' worth, with simulated caches too.
const MaxPiece = 1 << 20

// Piece returns how many of the n iterations that are left an engine makes next, where no budget is checked.
func Piece(n uint64) uint64 { return min(n, MaxPiece) }

// CheckedPiece returns how many of the n iterations that are left an engine makes next, where they are taken off a
// budget of which budget is left: not more of them than make it negative.
func CheckedPiece(n uint64, budget int64) uint64 {
	if left := uint64(max(budget, 0)); n > MaxRepeat && n-MaxRepeat > left {
		return min(Piece(n), left+1)
	}
	return Piece(n)
}

// PieceCost returns what a piece takes off a budget: before and after are RCX in front of it and behind it, ended says
// that the instruction ended with it.
func PieceCost(before, after uint64, ended bool) uint64 {
	n := before - min(before, max(after, MaxRepeat))
	if ended && after >= MaxRepeat && n > 0 {
		n--
	}
	return n
}
