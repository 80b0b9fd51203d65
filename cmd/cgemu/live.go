package main

import (
	"context"
	"fmt"
	"io"
	"sync"
	"syscall"
	"time"

	"github.com/cgemu/cgemu"
	"github.com/cgemu/cgemu/annotate"
	"github.com/cgemu/cgemu/annotate/cli"
	"github.com/cgemu/cgemu/annotate/serve"
	"github.com/cgemu/cgemu/cgout"
	"github.com/cgemu/cgemu/syscalls"
)

// A liveRun is a run whose counts are shown while it lasts: `cgemu --view`. The counts are those of all its processes.
//
// The thread that runs the guest takes a copy of the counts, when one is wanted; the server's threads make a page of
// that. They share nothing that changes.
type liveRun struct {
	url string

	mu      sync.Mutex
	wanted  bool
	past    *cgout.Profile // of dumps and of processes that have ended
	now     *cgout.Profile // of all, when it was wanted last
	version int
	running bool
	news    chan struct{} // closed when there is a newer version
	report  *annotate.Report
	made    int // the report's version
}

// liveEvery is how often counts can be taken while a run is shown, liveWait how long a page waits for the first ones.
const (
	liveEvery = 500 * time.Millisecond
	liveWait  = 2 * time.Second
)

// startView serves the counts of a run, whose context is ctx, until done is called. The context that it returns is to
// be the run's: the page can end it, as Ctrl-C does.
func (o *options) startView(ctx context.Context, log io.Writer) (l *liveRun, run context.Context, done func(), err error) {
	ln, err := serve.Listen(o.view)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("--view: %w", err)
	}
	run, cancel := context.WithCancelCause(ctx)
	l = &liveRun{url: serve.URL(ln), running: true, news: make(chan struct{})}
	server := serve.Server{Content: l.content, Stop: func() { cancel(endSignal{syscall.SIGINT}) }}
	serving, end := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() { over <- server.Serve(serving, ln) }()
	fmt.Fprintf(log, "cgemu: watch the run at %s\n", l.url)
	return l, run, func() { end(); <-over; cancel(nil) }, nil
}

// watch has a run be shown.
func (l *liveRun) watch(cfg *cgemu.Config) {
	cfg.OnLive = l.tick
	if cfg.ProgressEvery == 0 {
		cfg.ProgressEvery = liveEvery
	}
}

// tick takes the counts so far, if somebody wants them.
func (l *liveRun) tick(profiles func() []*cgemu.Result) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.wanted {
		return
	}
	l.wanted = false
	var sum *cgout.Profile
	if l.past != nil {
		sum = l.past.Clone()
	}
	for _, res := range profiles() {
		sum = added(sum, res.Profile)
	}
	l.show(sum)
}

// add adds what a process that has ended counted, or a dump.
func (l *liveRun) add(p *cgout.Profile) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.past = added(l.past, p)
}

// end says that the run is over: what was added is all.
func (l *liveRun) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running = false
	l.show(l.past)
}

// show makes a newer version.
func (l *liveRun) show(p *cgout.Profile) {
	l.now = p
	l.version++
	close(l.news)
	l.news = make(chan struct{})
}

// added returns the sum of two profiles; nil is none. It may change sum.
func added(sum, p *cgout.Profile) *cgout.Profile {
	if sum == nil {
		q := p.Clone()
		q.Insns = nil
		return q
	}
	if err := sum.Merge(p); err != nil {
		panic("BUG: " + err.Error()) // all processes count the same events
	}
	return sum
}

// content is what the page shows now.
func (l *liveRun) content() (serve.Content, error) {
	l.mu.Lock()
	l.wanted = true
	news, first := l.news, l.version == 0
	l.mu.Unlock()
	if first {
		select {
		case <-news:
		case <-time.After(liveWait): // it waits for something itself
		}
	}
	l.mu.Lock()
	p, version, running := l.now, l.version, l.running
	l.mu.Unlock()
	if p == nil {
		p = cgout.New("Ir")
	}
	if l.report == nil || l.made != version {
		r, err := annotate.New(cli.PageOptions(), annotate.Memory(fmt.Sprintf("process %d", syscalls.DefaultPID), p))
		if err != nil {
			return serve.Content{}, err
		}
		l.report, l.made = r, version
	}
	return serve.Content{Report: l.report, Version: version, Running: running}, nil
}

// runViewed makes the run and shows it, until a signal ends ctx. The context that it returns is the run's, which the
// page may have ended.
func (o *options) runViewed(ctx context.Context, k *keeper, cfg cgemu.Config) (*cgemu.Result, context.Context, error) {
	live, run, done, err := o.startView(ctx, k.log)
	if err != nil {
		return nil, ctx, err
	}
	defer done()
	k.live = live
	live.watch(&cfg)
	res, err := k.runFiltered(run, cfg)
	if err != nil {
		return res, run, err
	}
	live.end()
	if ctx.Err() == nil {
		fmt.Fprintf(k.log, "cgemu: the run has ended; %s shows it until Ctrl-C\n", live.url)
		<-ctx.Done()
	}
	return res, run, nil
}
