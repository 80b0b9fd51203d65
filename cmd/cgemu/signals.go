package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/cgemu/cgemu/internal/outfile"
)

// An endSignal is the cause of a context that a signal to cgemu ended.
type endSignal struct{ syscall.Signal }

func (s endSignal) Error() string { return s.String() }

// status is the exit status of who is ended by the signal, as shells have it.
func (s endSignal) status() int { return 128 + int(s.Signal) }

// endSignals are the signals that ask cgemu to end.
func endSignals() []os.Signal {
	list := []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT}
	for _, s := range hangups {
		if !signal.Ignored(s) { // as nohup(1) asks for
			list = append(list, s)
		}
	}
	return list
}

// untilSignal returns a context that ends when a signal asks cgemu to end. Who asks again ends cgemu at once. Signals
// are taken until cgemu ends.
func untilSignal() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	c := make(chan os.Signal, 2)
	signal.Notify(c, endSignals()...)
	go func() {
		cancel(endSignal{(<-c).(syscall.Signal)})
		endNow(askedAgain(c))
	}()
	return ctx
}

// oneRequest is how long after the first signal others belong to it: timeout(1) signals its child and then its process
// group, which has the child too, and who presses Ctrl-C signals all of a group, of which some pass it on.
const oneRequest = 200 * time.Millisecond

// askedAgain returns the signal that asks again behind the first one of c, which has just come.
func askedAgain(c <-chan os.Signal) os.Signal {
	for first := time.Now(); ; {
		if s := <-c; time.Since(first) >= oneRequest {
			return s
		}
	}
}

// endAtSignal ends cgemu at once when a signal asks for it.
func endAtSignal() {
	c := make(chan os.Signal, 1)
	signal.Notify(c, endSignals()...)
	go func() { endNow(<-c) }()
}

func endNow(s os.Signal) {
	outfile.Abandon()
	os.Exit(endSignal{s.(syscall.Signal)}.status())
}

// errUnread is why a message could not be written.
var errUnread = errors.New("a message could not be written: nobody reads it, and the run was interrupted")

// A messages is where messages go. When the run was interrupted, it waits no longer for a reader than outfile.Grace,
// and not again then.
type messages struct {
	ctx context.Context
	to  *os.File
	// waits says that a write may wait for others: the file is not regular.
	waits bool
	gone  bool
}

func newMessages(ctx context.Context, to *os.File) *messages {
	info, err := to.Stat()
	return &messages{ctx: ctx, to: to, waits: err != nil || !info.Mode().IsRegular()}
}

// Write implements io.Writer.
func (m *messages) Write(b []byte) (n int, err error) {
	const part = 4096 // PIPE_BUF: so much a pipe takes that can be written to at all
	for len(b) > 0 && err == nil {
		if m.gone || m.waits && !m.ready() {
			m.gone = true
			return n, errUnread
		}
		var k int
		k, err = m.to.Write(b[:min(len(b), part)])
		n, b = n+k, b[k:]
	}
	return n, err
}

// ready waits until a write would not wait, as long as it may.
func (m *messages) ready() bool {
	var late time.Time
	for !writable(m.to, 20*time.Millisecond) {
		switch {
		case m.ctx.Err() == nil:
		case late.IsZero():
			late = time.Now().Add(outfile.Grace)
		case time.Now().After(late):
			return false
		}
	}
	return true
}
