package annotate

import (
	"errors"
	"io"
	"math/big"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/term"

	"github.com/cgemu/cgemu/cgout"
)

// Colours: the parameters of SGR (ECMA-48, 8.3.117).
const (
	bold    = "1"
	dim     = "2"
	warning = "35"
)

// heats are colours of counts by their share of the total, in per cent; of a
// difference, those that grew and those that fell.
var heats = []struct {
	least      float64
	grew, fell string
}{
	{10, "1;31", "1;32"},
	{2, "31", "32"},
	{0.5, "33", "36"},
}

// paint returns lines in a colour.
func (r *textReport) paint(color, lines string) string {
	if !r.color {
		return lines
	}
	return paint(color, lines)
}

// paint returns lines in a colour, each of which begins and ends it: pagers show
// a part of a text.
func paint(color, lines string) string {
	var b strings.Builder
	for line := range strings.Lines(lines) {
		text, ended := strings.CutSuffix(line, "\n")
		if text != "" {
			b.WriteString("\x1b[" + color + "m" + text + "\x1b[m")
		}
		if ended {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// heat returns the line of a row in the colour of its first sort event.
func (r *textReport) heat(c counts, line string) string {
	if !r.color {
		return line
	}
	return heat(c[r.sort[0]], r.m.total[r.sort[0]], line)
}

// heat returns the line of a count in the colour of its share.
func heat(c, total cgout.Count, line string) string {
	n, _ := new(big.Float).SetInt(c.Abs().Big()).Float64()
	for _, h := range heats {
		if limit := share(h.least, total); limit > 0 && n >= limit {
			if c.Sign() < 0 {
				return paint(h.fell, line)
			}
			return paint(h.grew, line)
		}
	}
	return line
}

// colored reports whether the text for w is to have colours.
func (v *viewOptions) colored(w io.Writer) bool {
	switch v.color {
	case "always":
		return true
	case "never":
		return false
	}
	// https://no-color.org: the variable counts if it is not empty.
	return isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// A pager is a program that shows what is written to it; or, without one, the
// output itself.
type pager struct {
	io.Writer
	cmd  *exec.Cmd
	pipe io.WriteCloser
}

// page starts the pager, as git does: CGEMU_PAGER, PAGER, less; none if output is
// no terminal, or if the pager is empty or cat, or cannot be started.
func (v *viewOptions) page(stdout, stderr io.Writer) *pager {
	p := &pager{Writer: stdout}
	if v.noPager || v.machine() || !isTerminal(stdout) {
		return p
	}
	command := "less"
	for _, name := range []string{"CGEMU_PAGER", "PAGER"} {
		if value, ok := os.LookupEnv(name); ok {
			command = value
			break
		}
	}
	if command == "" || command == "cat" {
		return p
	}
	cmd := exec.Command("sh", "-c", command)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.Env = os.Environ()
	for _, def := range []string{"LESS=FRX", "LV=-c"} {
		name, _, _ := strings.Cut(def, "=")
		if _, ok := os.LookupEnv(name); !ok {
			cmd.Env = append(cmd.Env, def)
		}
	}
	if command == "less" {
		if _, err := exec.LookPath(command); err != nil {
			return p
		}
	}
	pipe, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		p.Writer, p.cmd, p.pipe = pipe, cmd, pipe
		signal.Ignore(os.Interrupt) // it is the pager's, which may go on
	}
	return p
}

// wait waits until the pager ends, and returns err unless it is that the pager
// ended before it had read all.
func (p *pager) wait(err error) error {
	if p.cmd == nil {
		return err
	}
	p.pipe.Close()
	p.cmd.Wait() // its status says nothing about us
	signal.Reset(os.Interrupt)
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}
