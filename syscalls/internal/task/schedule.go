package task

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
)

// MaxCalls is how many system calls a thread may make in one turn while others wait for theirs.
const MaxCalls = 1000

// A thread that wakes another by futex(2) gives up the rest of its turn, since Linux prefers a thread that has slept;
// but only after minCallsSinceWait system calls, or one whole turn, without waiting. Otherwise it would retake the lock
// that it has just released long before the woken thread could see it free. One that waits more often than that gives
// it up each time that it has woken others maxWakes times: what it does behind a wake, such as to send a signal, could
// keep those that it wakes from what they wait for, in step with them, for ever. And one that has given it up
// maxWakes-1 times without waiting goes on once: it may be about to wait for just those that it wakes, which find each
// time that it does not yet (JavaScriptCore's collector).
const (
	minCallsSinceWait = 16
	maxWakes          = 256
)

// givesUp reports whether t, which has woken another thread, gives up its turn.
func (t *Thread) givesUp() bool {
	if t.callsSinceWait < minCallsSinceWait {
		t.wakes = (t.wakes + 1) % maxWakes
		return t.wakes == 0
	}
	t.wakes, t.givenUp = 0, (t.givenUp+1)%maxWakes
	return t.givenUp != 0
}

// A schedule decides which thread runs next, how long its turn is, and which waiter of a futex is woken. Without a seed
// (fifo) that is the one that came first. With a seed it is drawn from a generator: another order, as reproducible.
type schedule struct {
	src  *rand.ChaCha8
	fifo bool
	// The present turn ends after insns instructions in which no system call is made, or, once calls of these were
	// made, after tail more instructions. It ends only if other threads could run.
	insns, tail uint64
	calls       int
	// quantum is the most that insns can be.
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

// maxTail bounds schedule.tail.
const maxTail = 256

// newTurn draws the length of the next turn. Lengths vary, and a turn never ends exactly at a system call: a thread
// that releases and retakes a lock in a loop would otherwise always be preempted while it holds the lock, and those who
// wait for the lock would starve. With a seed, short turns are more frequent than long ones, so that threads are
// preempted between neighbouring instructions as well as in the middle of long work.
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

// noteBudgetLeft shortens the tail of a turn, if t is in it, by what t has executed.
func (s *schedule) noteBudgetLeft(t *Thread, left int64) {
	if t.Calls >= s.calls {
		s.tail = min(s.tail, uint64(max(left, 0)))
	}
}

// wakeOrder returns waiters in the order in which they are to be woken.
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

// Yield ends t's turn, if another thread can run: sched_yield(2).
func (t *Thread) Yield() { t.Calls, t.Kernel.Scheduler.tail = MaxCalls, 0 }
