package task

import (
	"sync"
	"sync/atomic"
	"time"
)

// A progress reports how far a run is, while it executes.
type progress struct {
	// due says that a report is due. The timer sets it and interrupts the engine; the goroutine that runs the guest
	// reports between two instructions.
	due   atomic.Bool
	timer *time.Timer
}

// start makes a report due every Config.ProgressEvery until stop is called.
func (p *progress) start(k *Kernel) (stop func()) {
	if k.Config.OnProgress == nil {
		return func() {}
	}
	var mu sync.Mutex
	over := false
	p.timer = time.AfterFunc(k.Config.ProgressEvery, func() {
		mu.Lock()
		defer mu.Unlock()
		if !over {
			p.due.Store(true)
			k.running.interrupt()
		}
	})
	return func() {
		p.timer.Stop()
		mu.Lock() // the timer uses the engine, which Close frees
		defer mu.Unlock()
		over = true
	}
}

// report calls Config.OnProgress if a report is due. The time until the next begins when it is done: the guest goes on
// however long reports take.
func (p *progress) report(k *Kernel) {
	if p.due.Load() {
		p.due.Store(false)
		k.Config.OnProgress(uint64(k.Executed()), time.Duration(k.Now()-BootTime))
		p.timer.Reset(k.Config.ProgressEvery)
	}
}
