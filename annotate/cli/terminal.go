package cli

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/term"
)

// colored reports whether the text is to have colours.
func (o *options) colored() bool {
	switch o.color {
	case "always":
		return true
	case "never":
		return false
	}
	// https://no-color.org: the variable counts if it is not empty.
	return o.onTerminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
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
func (o *options) page(stderr io.Writer) *pager {
	p := &pager{Writer: o.terminal}
	if o.noPager || o.machine() || !o.onTerminal {
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
	cmd.Stdout, cmd.Stderr = o.terminal, stderr
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
