package net

import (
	"github.com/cgemu/cgemu/syscalls/internal/task"
)

// Descriptors in flight are those in messages that nobody has received yet (SCM_RIGHTS). Sockets of AF_UNIX that lie
// only in one another's queues can be received by nobody: they are collected, as in Linux (net/unix/garbage.c).

// An inflight decides when to search for sockets that nobody can reach (collectUnix).
type inflight struct {
	// unixSent says that a socket of AF_UNIX was sent in a message: before that there is nothing to search for.
	unixSent bool
	// suspects is how many references to such sockets were dropped since the last search and were not the last ones.
	suspects int
}

// MinSuspects is how many suspects there are at least before a search, which looks at all sockets. If there are more
// sockets than that, there have to be as many suspects.
const MinSuspects = 16

// Dropped is called by package files when a reference to s was dropped and others are left.
func (s *UnixSocket) Dropped(k *task.Kernel) {
	n := &StackOf(k).Unix
	if !n.unixSent {
		return
	}
	if n.suspects++; n.suspects >= max(MinSuspects, n.All.Len()) {
		n.suspects = 0
		collectUnix(k)
	}
}

// collectUnix empties the queues of those sockets to which only such queues refer.
func collectUnix(k *task.Kernel) {
	queued := map[*UnixSocket]int{}
	for s := range StackOf(k).Unix.Each {
		s.Queue.eachUnix(func(o *UnixSocket) { queued[o]++ })
	}
	reached := map[*UnixSocket]bool{}
	var reach func(s *UnixSocket)
	reach = func(s *UnixSocket) {
		if !reached[s] {
			reached[s] = true
			s.Queue.eachUnix(reach)
			for _, o := range s.acceptQueue {
				reach(o) // accept(2) gives it out, with what it has received
			}
		}
	}
	for s := range StackOf(k).Unix.Each {
		if s.Refs > queued[s] {
			reach(s)
		}
	}
	var lost []*packetQueue
	for s := range StackOf(k).Unix.Each {
		if s.Refs > 0 && !reached[s] {
			lost = append(lost, &s.Queue)
			for _, o := range s.acceptQueue {
				lost = append(lost, &o.Queue)
			}
		}
	}
	for _, q := range lost {
		q.purge(k)
	}
}

// eachUnix calls do for the sockets of AF_UNIX in q's messages.
func (q *packetQueue) eachUnix(do func(*UnixSocket)) {
	for _, p := range q.Packets {
		for _, f := range p.files {
			if o, ok := f.(*UnixSocket); ok {
				do(o)
			}
		}
	}
}
