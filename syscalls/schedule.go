package syscalls

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
)

// maxCalls is how many system calls a thread may make while others wait for their turn.
const maxCalls = 1000

// A schedule says which thread runs next, how long its turn is, and which waiter of a futex is woken: the
// first that came, and turns of one length. With a seed it is all drawn from a generator, and so
// another schedule that is as reproducible.
type schedule struct {
	src *rand.ChaCha8 // nil without a seed
	// A turn ends after insns instructions without a system call, or after calls of these, if others wait.
	insns uint64
	calls int
	// quantum is the longest turn.
	quantum uint64
}

func (s *schedule) init(seed, quantum uint64) {
	s.quantum = quantum
	if seed == 0 {
		return
	}
	var key [32]byte
	copy(key[:], "cgemu schedule")
	binary.LittleEndian.PutUint64(key[24:], seed)
	s.src = rand.NewChaCha8(key)
}

// below draws a number less than n.
func (s *schedule) below(n uint64) uint64 { return s.src.Uint64() % n }

// pick chooses one of n threads that could run.
func (s *schedule) pick(n int) int {
	if s.src == nil {
		return 0
	}
	return int(s.below(uint64(n)))
}

// turn begins a turn. Drawn lengths are short more often than long, so that a thread is stopped between two
// instructions that are close to each other as well as in the middle of long work.
func (s *schedule) turn() {
	s.insns, s.calls = s.quantum, maxCalls
	if s.src != nil {
		const halvings = 11
		s.insns = 1 + s.below(max(s.quantum>>s.below(halvings), 1))
		s.calls = 1 + int(s.below(maxCalls>>s.below(halvings-1)))
	}
}

// order returns waiters in the order in which they are woken.
func (s *schedule) order(waiters []*Thread) []*Thread {
	if s.src == nil {
		return waiters
	}
	waiters = slices.Clone(waiters)
	for i := len(waiters) - 1; i > 0; i-- {
		j := s.below(uint64(i + 1))
		waiters[i], waiters[j] = waiters[j], waiters[i]
	}
	return waiters
}
