// Package branchsim simulates the branch predictor that Cachegrind simulates: two-bit counters
// chosen by address and recent history for conditional branches, the last target for indirect
// ones (docs/counting.md, "Conditional branches" and after it).
//
// Addresses are guest virtual addresses, those of a branch's first byte, prefixes included. This is
// the reference: engines may keep a predictor in another form, but see the same mispredictions. A
// Predictor is not safe for concurrent use.
package branchsim

// Sizes of the predictor's tables.
const (
	// A counter is chosen by 7 bits of history, and 7 of the address below them.
	historyBits = 7
	addrBits    = 7
	// Counters is the number of counters.
	Counters = 1 << (historyBits + addrBits)
	// Targets is the number of remembered targets.
	Targets = 512
)

// A counter of 2 and more predicts a branch to be taken.
const (
	taken      = 2
	maxCounter = 3
)

// A Predictor predicts branches, and learns. The zero value is a new one: no counter predicts a
// branch to be taken, every target is 0.
type Predictor struct {
	counters [Counters]uint8
	// history has the outcomes of the last conditional branches: 1 for taken, the last one in bit 0.
	history uint
	targets [Targets]uint64
}

// Conditional predicts the conditional branch at addr and learns whether it was taken. It reports
// a misprediction.
func (p *Predictor) Conditional(addr uint64, wasTaken bool) (miss bool) {
	counter := &p.counters[p.history<<addrBits%Counters|uint(addr%(1<<addrBits))]
	miss = (*counter >= taken) != wasTaken
	p.history <<= 1
	if wasTaken {
		p.history |= 1
		*counter = min(*counter+1, maxCounter)
	} else {
		*counter = max(*counter, 1) - 1
	}
	return miss
}

// Indirect predicts the indirect branch at addr and learns where it went. It reports a
// misprediction.
func (p *Predictor) Indirect(addr, target uint64) (miss bool) {
	last := &p.targets[addr%Targets]
	miss = *last != target
	*last = target
	return miss
}
