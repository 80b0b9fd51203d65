package cgemu

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"

	"github.com/cgemu/cgemu/dwarfmap"
)

// A Cmd is a program to be run, with the habits of os/exec: Run and Output return an *ExitError if the program fails,
// and how it went is in Result behind them. The fields of Config may be set before; unlike in os/exec an empty Env is
// an empty environment, since a run is to be the same wherever it is made. Names are demangled, and other processes are
// counted: Result.Children has them. A Cmd runs once.
type Cmd struct {
	Config
	// Result is what the run left, once it has ended.
	Result *Result

	ctx     context.Context
	err     error // why the program was not found
	started bool
}

// Command returns the command to run a program, which is searched for in PATH if its name has no slash.
func Command(name string, arg ...string) *Cmd {
	return CommandContext(context.Background(), name, arg...)
}

// CommandContext is Command, with a context that ends the run when it is done.
func CommandContext(ctx context.Context, name string, arg ...string) *Cmd {
	c := &Cmd{Config: Config{Path: name, Args: append([]string{name}, arg...), TraceChildren: true, Names: dwarfmap.Options{Demangle: true}}, ctx: ctx}
	if !strings.Contains(name, "/") {
		if path, err := exec.LookPath(name); err != nil {
			c.err = err
		} else {
			c.Path = path
		}
	}
	return c
}

// Err is why the program was not found, nil if it was.
func (c *Cmd) Err() error { return c.err }

// String returns the program and its arguments.
func (c *Cmd) String() string { return strings.Join(append([]string{c.Path}, c.Args[1:]...), " ") }

// Run runs the program. The error is an *ExitError if it did not end with status 0.
func (c *Cmd) Run() (err error) {
	if c.started {
		return errors.New("cgemu: a Cmd runs once")
	}
	c.started = true
	if c.err != nil {
		return c.err
	}
	if c.Result, err = Run(c.ctx, c.Config); err != nil {
		return err
	}
	switch x := c.Result.Exit; {
	case x.Interrupted:
		return &ExitError{Exit: x, cause: context.Cause(c.ctx)}
	case !x.Success():
		return &ExitError{Exit: x}
	}
	return nil
}

// Output runs the program and returns its standard output. What it writes to standard error is in the *ExitError, if
// nothing else gets it.
func (c *Cmd) Output() ([]byte, error) {
	if c.Stdout != nil {
		return nil, errors.New("cgemu: Stdout is set")
	}
	var stdout, stderr bytes.Buffer
	c.Stdout = &stdout
	if c.Stderr == nil {
		c.Stderr = &stderr
	}
	err := c.Run()
	var failed *ExitError
	if errors.As(err, &failed) {
		failed.Stderr = stderr.Bytes()
	}
	return stdout.Bytes(), err
}

// CombinedOutput runs the program and returns its standard output and standard error.
func (c *Cmd) CombinedOutput() ([]byte, error) {
	if c.Stdout != nil || c.Stderr != nil {
		return nil, errors.New("cgemu: Stdout or Stderr is set")
	}
	var both bytes.Buffer
	c.Stdout, c.Stderr = io.Writer(&both), io.Writer(&both)
	err := c.Run()
	return both.Bytes(), err
}

// An Exit says how a program ended.
type Exit struct {
	// Code is its exit status, valid if Signal is 0; Signal is the signal that killed it.
	Code, Signal int
	// Fault is the fault that led to the signal, nil if none did.
	Fault *Fault
	// Interrupted says that the context ended before the program did, Limit that MaxInsns were executed, Deadlock that
	// no thread could ever run again, Abandoned that the run ended without it: the first process was gone, and this one
	// waited.
	Interrupted, Limit, Deadlock, Abandoned bool
}

// A Fault is an exception that killed a program.
type Fault struct {
	// Text describes it, as "guest fault 14 accessing 0x10": the number is that of the exception.
	Text string
	// Address is that of the instruction; Func, File and Line are its source place.
	Address    uint64
	Func, File string
	Line       int
}

// Success reports whether the program ended by itself, with status 0.
func (e Exit) Success() bool { return e == Exit{} }

// Status is the exit status as shells have it, 128+n for signal n, and as the command cgemu has it: 124 for Limit, 130,
// that of SIGINT, for Interrupted.
func (e Exit) Status() int {
	switch {
	case e.Limit:
		return 124
	case e.Interrupted:
		return 130
	case e.Signal != 0:
		return 128 + e.Signal
	}
	return e.Code
}

// String says how it ended, as os.ProcessState does.
func (e Exit) String() string {
	switch {
	case e.Interrupted:
		return "interrupted"
	case e.Limit:
		return "ended by its limit of instructions"
	case e.Deadlock:
		return "deadlock"
	case e.Abandoned:
		return "abandoned"
	case e.Fault != nil:
		f := e.Fault
		return fmt.Sprintf("signal %d: %s at %#x: %s (%s:%d)", e.Signal, f.Text, f.Address, f.Func, f.File, f.Line)
	case e.Signal != 0:
		return fmt.Sprintf("signal %d", e.Signal)
	}
	return fmt.Sprintf("exit status %d", e.Code)
}

// An ExitError says that a program did not end with status 0.
type ExitError struct {
	Exit
	// Stderr is what it wrote to standard error, if Output collected that.
	Stderr []byte
	cause  error // of the context, if that has interrupted it
}

// Error implements error.
func (e *ExitError) Error() string { return e.Exit.String() }

// Unwrap returns why the context was done, if it has interrupted the program.
func (e *ExitError) Unwrap() error { return e.cause }
