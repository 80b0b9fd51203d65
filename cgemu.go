// Package cgemu runs x86-64 Linux programs on a CPU and a Linux of its own and
// counts what they execute, exactly, by source line: the wiring of the packages
// below it, for the command and for Go programs.
//
// The unit of all counts is one executed instruction (event Ir; spec: counting.md). With caches
// or a branch predictor simulated, their events are counted too.
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

	"github.com/cgemu/cgemu/cachesim"
	"github.com/cgemu/cgemu/cgout"
	"github.com/cgemu/cgemu/dwarfmap"
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/loader"
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
	// Caches are the caches to simulate; nil for none. Unless the guest's CPU is to be Valgrind's
	// it says that it has these.
	Caches *cachesim.Config
	// Branches asks for branch prediction to be simulated.
	Branches bool
	// MaxInsns ends the run after so many instructions, 0 never: at the first backward
	// jump, call or indirect jump from there on.
	MaxInsns uint64

	// Regions says which parts of the run count.
	Regions Regions
	// Events are groups of events to count besides: see EventGroups.
	Events []string
	// Cycles adds a column of estimated cycles. It needs Caches.
	Cycles bool
	// OnDump gets the profile when the program asks for a dump, what was counted since the
	// last one; Result.Profile is what is left. The last text of Profile.Desc says who asked. Without it
	// such profiles are lost.
	OnDump func(*cgout.Profile)

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
	if cfg.Caches != nil {
		if err := cfg.Caches.Check(); err != nil {
			return nil, fmt.Errorf("cgemu: %w", err)
		}
		if !cfg.Compat && cfg.Model.Name != "valgrind" {
			cfg.Model = cfg.Model.WithCaches(emu.Cache(cfg.Caches.I1), emu.Cache(cfg.Caches.D1), emu.Cache(cfg.Caches.LL))
		}
	}
	if err := cfg.checkEvents(); err != nil {
		return nil, err
	}
	c := newCosts(newProfile(&cfg), &cfg)
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
	res := &Result{Profile: k.Engine().(*counted).end(), Exit: exit, PID: k.PID()}
	if exit.Fault != nil {
		res.FaultAt = c.place(k.Mem(), exit.RIP)
	}
	res.Warnings = c.close()
	return res, nil
}

// events are the events of a run in the order of Cachegrind's files.
func (cfg *Config) events() []emu.Event {
	events := []emu.Event{emu.Ir}
	if cfg.Caches != nil {
		events = append(events, emu.I1mr, emu.ILmr, emu.Dr, emu.D1mr, emu.DLmr, emu.Dw, emu.D1mw, emu.DLmw)
	}
	if cfg.Branches {
		events = append(events, emu.Bc, emu.Bcm, emu.Bi, emu.Bim)
	}
	return events
}

// newProfile returns the profile of a run that has not begun.
func newProfile(cfg *Config) *cgout.Profile {
	var names []string
	for _, col := range cfg.columns() {
		names = append(names, col.name)
	}
	p := cgout.New(names...)
	p.Cmd = strings.Join(cfg.Args, " ")
	if cfg.Caches != nil {
		p.Desc = cfg.Caches.Describe()
	}
	return p
}

func kernelConfig(cfg *Config, c *costs) syscalls.Config {
	var e *counted // there is none before the first program is loaded
	return syscalls.Config{
		NewEngine: func(m *mem.Space, env emu.Env) (_ emu.Engine, err error) {
			if e, err = newEngine(m, env, cfg, c); err != nil {
				return nil, err
			}
			return e, nil
		},
		OnClientRequest: func(code uint64, args [5]uint64) (uint64, bool) { return e.request(code, args) },
		OnExec: func(int, *mem.Space, *loader.Program) {
			if e != nil {
				e.watch.reset()
			}
		},
		OnMap: func(_ int, v mem.VMA) { e.watch.mapped(v) },

		CPUID:    cfg.Model.CPUID,
		Path:     cfg.Path,
		Args:     cfg.Args,
		Env:      cfg.Env,
		Dir:      cfg.Dir,
		Sysroot:  cfg.Sysroot,
		Stdin:    cfg.Stdin,
		Stdout:   cfg.Stdout,
		Stderr:   cfg.Stderr,
		Seed:     cfg.Seed,
		Compat:   cfg.Compat,
		CPUs:     cfg.CPUs,
		RealTime: cfg.RealTime,
		MaxInsns: cfg.MaxInsns,
		Strace:   cfg.Strace,
		Log:      cfg.Log,
	}
}
