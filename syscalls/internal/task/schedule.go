package task

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
)

// MaxCalls is how many system calls a thread may make while others wait for their turn.
const MaxCalls = 1000

// minCallsSinceWait is how many system calls a thread makes, or one whole turn, since it last waited until it lets others run when it wakes one by
// futex(2), as Linux lets a thread that slept go before one that did not. So who waits for a lock finds it free: it would be taken
// again long before the turn's end.
const minCallsSinceWait = 16

// A schedule says which thread runs next, how long its turn is, and which waiter of a futex is woken. Without a seed that is
// the first that came; with one it is drawn from a generator, and so another schedule that is as reproducible.
type schedule struct {
	src  *rand.ChaCha8
	fifo bool
	// A turn ends after insns instructions without a system call, or after calls of these and rest instructions more, if others
	// wait.
	insns, tail uint64
	calls       int
	// quantum is the longest turn.
	quantum uint64
}

func (s *schedule) init(seed, quantum uint64) {
	s.quantum, s.fifo = quantum, seed == 0
	var key [32]byte
	copy(key[:], "cgemu schedule")
	binary.LittleEndian.PutUint64(key[24:], seed)
	s.src = rand.NewChaCha8(key)
}

// below draws a number less than n.
func (s *schedule) below(n uint64) uint64 { return s.src.Uint64() % n }

// pick chooses one of n threads that could run.
func (s *schedule) pick(n int) int {
	if s.fifo {
		return 0
	}
	return int(s.below(uint64(n)))
}

// maxTail is the most instructions behind a turn's last system call.
const maxTail = 256

// newTurn begins a turn. Its length is never the same for long, and it does not end in front of or behind a system call: a thread
// that gives a lock back and takes it again in a loop could always be stopped where it has it, and who waits for it
// would wait for ever. With a seed lengths are short more often than long, so that a thread is stopped between two instructions
// that are close to each other as well as in the middle of long work.
func (s *schedule) newTurn() {
	s.tail = 1 + s.below(maxTail)
	if s.fifo {
		s.insns = s.quantum - s.below(s.quantum/4+1)
		s.calls = MaxCalls - int(s.below(MaxCalls/4))
		return
	}
	const halvings = 11
	s.insns = 1 + s.below(max(s.quantum>>s.below(halvings), 1))
	s.calls = 1 + int(s.below(MaxCalls>>s.below(halvings-1)))
}

// noteBudgetLeft notes that t ran, and what it left of its budget.
func (s *schedule) noteBudgetLeft(t *Thread, left int64) {
	if t.Calls >= s.calls {
		s.tail = min(s.tail, uint64(max(left, 0)))
	}
}

// wakeOrder returns waiters in the order in which they are woken.
func (s *schedule) wakeOrder(waiters []*Thread) []*Thread {
	if s.fifo {
		return waiters
	}
	waiters = slices.Clone(waiters)
	for i := len(waiters) - 1; i > 0; i-- {
		j := s.below(uint64(i + 1))
		waiters[i], waiters[j] = waiters[j], waiters[i]
	}
	return waiters
}

// Yield ends t's turn, as sched_yield(2) asks for, if another thread can run.
func (t *Thread) Yield() { t.Calls, t.Kernel.Scheduler.tail = MaxCalls, 0 }
