// Package cgemu runs x86-64 Linux programs on a CPU and a Linux of its own and
// counts what they execute, exactly, by source line: the wiring of the packages
// below it, for the command and for Go programs.
//
// The unit of all counts is one executed instruction (event Ir; spec: counting.md).
// Equal programs, arguments, environments and input files give equal profiles
// on every run and host.
package cgemu

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/cgemu/cgemu/cgout"
	"github.com/cgemu/cgemu/dwarfmap"
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/syscalls"
)

// A Config says what to run and how. Path and Args are required.
type Config struct {
	// Path is the program: a path, not searched for.
	Path string
	// Args are its arguments, Args[0] its name. Env is its whole environment.
	Args, Env []string
	// Dir is its working directory; "" is the caller's.
	Dir string
	// Sysroot is a host directory in which the guest's absolute paths are looked up first.
	Sysroot string
	// Stdin, Stdout and Stderr are the guest's; nil for the caller's.
	Stdin, Stdout, Stderr *os.File

	// Model is the guest's CPU; nil for x86-64-v3.
	Model *emu.Model
	// CPUs is how many of them it sees, 0 for one.
	CPUs int
	// Compat presents the stack and the auxiliary vector as Valgrind does.
	Compat bool
	// Seed seeds what the guest takes for random.
	Seed uint64
	// RealTime takes clocks and sleeps from the host: runs are no longer reproducible.
	RealTime bool
	// RepOnce counts a REP instruction once, as hardware counters do.
	RepOnce bool
	// MaxInsns ends the run after so many instructions, 0 never: at the first backward
	// jump, call or indirect jump from there on.
	MaxInsns uint64

	// Names says how source places are named.
	Names dwarfmap.Options
	// Strace gets a line for each system call, Log a line for each thing not supported.
	Strace, Log io.Writer
}

// A Result is what a run leaves.
type Result struct {
	Profile *cgout.Profile
	Exit    syscalls.Exit
	// FaultAt is the source place of the fault that killed the guest, if one did.
	FaultAt dwarfmap.Loc
	// PID is the guest's process id, the %p of file names.
	PID int
	// Warnings are about symbols that could not be read.
	Warnings []error
}

// Run runs a program to its end, or until ctx is done or MaxInsns are executed,
// and returns its profile. The error is for what keeps it from running: a file that
// is no program, a host without an engine. How the guest ends is no error.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	if len(cfg.Args) == 0 {
		return nil, errors.New("cgemu: no program")
	}
	if cfg.Model == nil {
		cfg.Model, _ = emu.ModelByName("v3")
	}
	p := cgout.New("Ir")
	p.Cmd = strings.Join(cfg.Args, " ")
	c := &costs{profile: p, names: cfg.Names, objects: map[string]*dwarfmap.Object{}, counts: make([]uint64, len(p.Events))}
	k, err := syscalls.New(kernelConfig(&cfg, c))
	if err != nil {
		return nil, err
	}
	defer k.Close()
	c.hostPath = k.HostPath
	exit, err := k.Run(ctx)
	if err != nil {
		return nil, fmt.Errorf("cgemu: %w", err)
	}
	k.Engine().(*counted).collect(0, ^emu.Addr(0))
	res := &Result{Profile: p, Exit: exit, PID: k.PID()}
	if exit.Fault != nil {
		res.FaultAt = c.place(k.Mem(), exit.RIP)
	}
	res.Warnings = c.close()
	return res, nil
}

func kernelConfig(cfg *Config, c *costs) syscalls.Config {
	return syscalls.Config{
		NewEngine: func(m *mem.Space, env emu.Env) (emu.Engine, error) { return newEngine(m, env, cfg, c) },
		CPUID:     cfg.Model.CPUID,
		Path:      cfg.Path,
		Args:      cfg.Args,
		Env:       cfg.Env,
		Dir:       cfg.Dir,
		Sysroot:   cfg.Sysroot,
		Stdin:     cfg.Stdin,
		Stdout:    cfg.Stdout,
		Stderr:    cfg.Stderr,
		Seed:      cfg.Seed,
		Compat:    cfg.Compat,
		CPUs:      cfg.CPUs,
		RealTime:  cfg.RealTime,
		MaxInsns:  cfg.MaxInsns,
		Strace:    cfg.Strace,
		Log:       cfg.Log,
	}
}
