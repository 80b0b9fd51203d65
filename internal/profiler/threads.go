package profiler

import (
	"slices"

	"github.com/cgemu/cgemu/cgout"
	"github.com/cgemu/cgemu/emu"
)

// threads are the costs of a process' threads, which are counted apart: whenever another one runs all that was counted
// goes to the one before.
type threads struct {
	cfg *Config
	// list are the threads in the order in which they ran first; the costs of the current one are the attribution's.
	list    []counted
	current int
	numbers map[*emu.CPU]int // in list
}

// newThreads returns the threads of a process of which none has run.
func newThreads(cfg *Config) *threads {
	return &threads{cfg: cfg, list: make([]counted, 1), numbers: map[*emu.CPU]int{}}
}

// of returns the number of cpu's thread.
func (t *threads) of(cpu *emu.CPU) int {
	n, known := t.numbers[cpu]
	if !known {
		if n = len(t.numbers); n == len(t.list) {
			t.list = append(t.list, newCounted(t.cfg))
		}
		t.numbers[cpu] = n
	}
	return n
}

// use has costs go to a thread.
func (c *attribution) use(thread int) {
	t := c.threads
	t.list[t.current] = c.counted
	c.counted, t.current = t.list[thread], thread
}

// each calls f for each thread, while costs go to it; once, if threads are counted together.
func (c *attribution) each(f func()) {
	if c.threads == nil {
		f()
		return
	}
	current := c.threads.current
	for i := range c.threads.list {
		c.use(i)
		f()
	}
	c.use(current)
}

// take returns the costs so far, and begins anew.
func (c *attribution) take() *cgout.Profile { return c.sum((*attribution).takeOne) }

// snapshot returns a copy of the costs.
func (c *attribution) snapshot() *cgout.Profile { return c.sum((*attribution).snapshotOne) }

// sum adds up what of returns for each thread; Threads are those that counted something.
func (c *attribution) sum(of func(c *attribution) *cgout.Profile) *cgout.Profile {
	if c.threads == nil {
		return of(c)
	}
	cmd := c.profile.Cmd // that of a program that was executed later
	all := cgout.New(c.profile.Events...)
	all.Cmd, all.Desc = cmd, slices.Clone(c.profile.Desc)
	c.each(func() {
		p := of(c)
		p.Cmd, p.Thread = cmd, c.threads.current+1
		if err := all.Merge(p); err != nil {
			panic("BUG: " + err.Error()) // all threads count the same events
		}
		if p.Len() > 0 || p.Thread == 1 {
			all.Threads = append(all.Threads, p)
		}
	})
	return all
}

// runs is called before cpu's thread runs.
func (p *Profiler) runs(cpu *emu.CPU) {
	t := p.costs.threads
	if t == nil || p.discard {
		return
	}
	if n := t.of(cpu); n != t.current {
		p.collect(0, ^emu.Addr(0))
		p.costs.use(n)
	}
}
