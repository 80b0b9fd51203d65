package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/cgemu/cgemu"
	"github.com/cgemu/cgemu/cgout"
)

// progressAfter is how long a run lasts before its progress is shown, progressEvery how often it is then. Tests change
// them.
var (
	progressAfter = 2 * time.Second
	progressEvery = 500 * time.Millisecond
)

// A progress is the line on a terminal that says how far a run is. It is erased before anything else is written there.
type progress struct {
	w     io.Writer
	width func() int
	now   func() time.Time
	start time.Time
	shown bool
}

// showProgress makes cfg's run show its progress, if stderr is a terminal. What it returns ends that.
func (k *keeper) showProgress(cfg *cgemu.Config) (end func()) {
	if !bool(k.o.progress) || !term.IsTerminal(int(os.Stderr.Fd())) {
		return func() {}
	}
	p := &progress{w: k.stderr, now: time.Now, start: time.Now(), width: func() int {
		width, _, err := term.GetSize(int(os.Stderr.Fd()))
		if err != nil || width == 0 {
			return 80
		}
		return width
	}}
	cfg.OnProgress, cfg.ProgressEvery, cfg.BeforeOutput = p.show, progressEvery, p.erase
	for _, w := range []*io.Writer{&cfg.Log, &cfg.Strace, &k.log} {
		if *w == k.stderr {
			*w = p
		}
	}
	return p.erase
}

// show shows the line, or another in its place.
func (p *progress) show(insns uint64, virtual time.Duration) {
	took := p.now().Sub(p.start)
	if took < progressAfter {
		return
	}
	line := fmt.Sprintf("cgemu: %s instructions, %.0f MIPS, virtual time %.1f s",
		cgout.Group(insns), float64(insns)/1e6/took.Seconds(), virtual.Seconds())
	fmt.Fprintf(p.w, "\r\x1b[K%s", line[:min(len(line), max(p.width()-1, 0))])
	p.shown = true
}

// erase removes the line.
func (p *progress) erase() {
	if p.shown {
		p.shown = false
		io.WriteString(p.w, "\r\x1b[K")
	}
}

// Write writes a message in place of the line.
func (p *progress) Write(b []byte) (int, error) {
	p.erase()
	return p.w.Write(b)
}
