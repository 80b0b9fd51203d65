package task

import (
	"sync/atomic"
	"time"
)

// A progress reports how far a run is, while it executes.
type progress struct {
	// due says that a report is due. A goroutine sets it and interrupts the engine; the goroutine that runs the guest
	// reports between two instructions.
	due atomic.Bool
}

// start makes a report due every Config.ProgressEvery until stop is called.
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

// report calls Config.OnProgress if a report is due.
func (p *progress) report(k *Kernel) {
	if p.due.Load() {
		p.due.Store(false)
		k.Config.OnProgress(uint64(k.Executed()), time.Duration(k.Now()-BootTime))
	}
}
