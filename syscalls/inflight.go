package syscalls

// Descriptors in flight are those in messages that nobody has received yet (SCM_RIGHTS). Sockets of AF_UNIX that lie only in
// one another's queues can be received by nobody: they are collected, as in Linux (net/unix/garbage.c).

// An inflight says when to look for sockets that are out of reach.
type inflight struct {
	// passed says that a message has had a socket of AF_UNIX.
	passed bool
	// suspects is how many references to such sockets were dropped since the last search that were not the last ones.
	suspects int
}

// minSuspects is how many are suspected before a search. A search looks at all sockets, so with many there have
// to be as many.
const minSuspects = 16

// dropped is called when a reference to s was dropped and there are others.
func (s *unixSocket) dropped(k *Kernel) {
	n := &netOf(k).unix
	if !n.passed {
		return
	}
	if n.suspects++; n.suspects >= max(minSuspects, n.all.Len()) {
		n.suspects = 0
		k.collectUnix()
	}
}

// collectUnix empties the queues of sockets that only queues of such sockets refer to.
func (k *Kernel) collectUnix() {
	queued := map[*unixSocket]int{}
	for s := range netOf(k).unix.each {
		s.queue.eachUnix(func(o *unixSocket) { queued[o]++ })
	}
	reached := map[*unixSocket]bool{}
	var reach func(s *unixSocket)
	reach = func(s *unixSocket) {
		if !reached[s] {
			reached[s] = true
			s.queue.eachUnix(reach)
			for _, o := range s.pending {
				reach(o) // who accepts it can receive what it has
			}
		}
	}
	for s := range netOf(k).unix.each {
		if s.refs > queued[s] {
			reach(s)
		}
	}
	var lost []*packetQueue
	for s := range netOf(k).unix.each {
		if s.refs > 0 && !reached[s] {
			lost = append(lost, &s.queue)
			for _, o := range s.pending {
				lost = append(lost, &o.queue)
			}
		}
	}
	for _, q := range lost {
		q.purge(k)
	}
}

// eachUnix calls do for the sockets of AF_UNIX in q's messages.
func (q *packetQueue) eachUnix(do func(*unixSocket)) {
	for _, p := range q.packets {
		for _, f := range p.files {
			if o, ok := f.(*unixSocket); ok {
				do(o)
			}
		}
	}
}
