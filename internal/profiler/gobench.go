package profiler

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/internal/funcwatch"
)

// A goBenchmarks follows package testing in a Go program: while the timer of a benchmark runs the program counts, and
// not otherwise. It watches the methods of testing.B that start and stop the timer, from the outside, so that what
// these do themselves (runtime.ReadMemStats, clocks) is not in the counts.
type goBenchmarks struct {
	p *Profiler
	// runs are the calls of benchmarks that have not ended: a benchmark may run others. The innermost is the last.
	runs []goRun
	// monitor is the thread that watches the others for the Go runtime, by time: how often it runs does not depend on
	// what the benchmark does.
	monitor *emu.CPU
}

// A goRun is a call of a benchmark's function.
type goRun struct {
	goroutine uint64
	timer     bool // the timer runs
	// paused is how many functions of package testing it is in that do not count though the timer runs.
	paused int
	// start is what was counted before the timer was reset.
	start []uint64
}

// count reports whether what cpu's thread executes counts. Without benchmarks all does.
func (b *goBenchmarks) count(cpu *emu.CPU) bool {
	if b == nil {
		return true
	}
	n := len(b.runs)
	return n > 0 && b.runs[n-1].timer && b.runs[n-1].paused == 0 && cpu != b.monitor
}

// probes returns the functions to be watched.
func (b *goBenchmarks) probes() []*funcwatch.Probe {
	entered := map[string]func(e funcwatch.Entry){
		"testing.(*B).StartTimer":   b.startTimer,
		"testing.(*B).StopTimer":    func(funcwatch.Entry) { b.setTimer(false) },
		"testing.(*B).ResetTimer":   b.resetTimer,
		"testing.(*B).loopSlowPath": b.pause, // of b.Loop: when it begins, looks at the clock, and ends
		"runtime.Goexit":            b.leave,
		"runtime.sysmon":            func(e funcwatch.Entry) { b.monitor = e.CPU },
	}
	const run = "testing.(*B).runN"
	return []*funcwatch.Probe{{
		Option:  "--go-benchmarks (" + run + ")",
		Match:   func(f *funcwatch.Function) bool { return f.Symbol == run },
		Entered: func(_ *funcwatch.Probe, e funcwatch.Entry) { b.begin(e) },
	}, {
		Match:   func(f *funcwatch.Function) bool { return entered[f.Symbol] != nil },
		Entered: func(_ *funcwatch.Probe, e funcwatch.Entry) { entered[e.Symbol](e) },
	}}
}

// begin notes that the function of a benchmark is about to be called.
func (b *goBenchmarks) begin(e funcwatch.Entry) {
	if !e.OnReturn(b.end) {
		return
	}
	b.runs = append(b.runs, goRun{goroutine: e.Goroutine(), start: b.totals()})
}

// end tells what a benchmark has counted whose function has returned.
func (b *goBenchmarks) end() {
	n := len(b.runs) - 1
	counts := b.totals()
	for i, before := range b.runs[n].start {
		counts[i] -= before
	}
	b.runs = b.runs[:n]
	b.p.cfg.OnGoBenchmark(b.p.costs.profile.Events, counts)
}

// leave notes that a goroutine ends: that of a benchmark which failed or was skipped leaves no result.
func (b *goBenchmarks) leave(e funcwatch.Entry) {
	if n := len(b.runs) - 1; n >= 0 && b.runs[n].goroutine == e.Goroutine() {
		b.runs = b.runs[:n]
		e.ForgetReturns()
	}
}

func (b *goBenchmarks) startTimer(e funcwatch.Entry) { b.pauseUntil(e, func() { b.setTimer(true) }) }

func (b *goBenchmarks) setTimer(on bool) {
	if n := len(b.runs); n > 0 {
		b.runs[n-1].timer = on
	}
}

func (b *goBenchmarks) resetTimer(e funcwatch.Entry) {
	if n := len(b.runs); n > 0 {
		b.runs[n-1].start = b.totals()
	}
	b.pause(e)
}

// pause leaves out what a function of package testing executes.
func (b *goBenchmarks) pause(e funcwatch.Entry) { b.pauseUntil(e, func() {}) }

// pauseUntil does that, and calls then when it returns.
func (b *goBenchmarks) pauseUntil(e funcwatch.Entry, then func()) {
	n := len(b.runs)
	if n > 0 && e.OnReturn(func() {
		if n <= len(b.runs) {
			b.runs[n-1].paused--
			then()
		}
	}) {
		b.runs[n-1].paused++
	}
}

// totals is what was counted so far, by event.
func (b *goBenchmarks) totals() []uint64 {
	p := b.p
	p.collect(0, ^emu.Addr(0))
	counts := p.costs.totals()
	cycleEstimate(p.costs.profile.Events)(counts)
	return counts
}

// reset forgets all: the process has another program.
func (b *goBenchmarks) reset() {
	if b != nil {
		b.runs, b.monitor = nil, nil
	}
}
