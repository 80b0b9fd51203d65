package task

import (
	"sync/atomic"
	"time"
)

// A progress tells how far a run is while it executes.
type progress struct {
	// due is set by a goroutine; the one that runs the guest tells, between two instructions.
	due atomic.Bool
}

// start makes progress due every now and then, until stop is called.
func (p *progress) start(k *Kernel) (stop func()) {
	if k.Config.OnProgress == nil {
		return func() {}
	}
	ticker := time.NewTicker(k.Config.ProgressEvery)
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ticker.C:
				p.due.Store(true)
				k.running.interrupt()
			case <-over:
				return
			}
		}
	}()
	return func() {
		ticker.Stop()
		close(over)
		<-done // it uses the engine, which Close frees
	}
}

// report tells how far the run is, if that is due.
func (p *progress) report(k *Kernel) {
	if p.due.Load() {
		p.due.Store(false)
		k.Config.OnProgress(uint64(k.Executed()), time.Duration(k.Now()-BootTime))
	}
}
