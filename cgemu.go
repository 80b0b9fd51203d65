// Package cgemu runs x86-64 Linux programs on a CPU and a Linux of its own and
// counts what they execute, exactly, by source line: the wiring of the packages
// below it, for the command and for Go programs.
//
// The unit of all counts is one executed instruction (event Ir; docs/counting.md). With caches
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
	"slices"
	"time"

	"github.com/cgemu/cgemu/cachesim"
	"github.com/cgemu/cgemu/cgout"
	"github.com/cgemu/cgemu/dwarfmap"
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/internal/profiler"
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
	// Root is a host directory that is the guest's "/". Path is looked up there.
	Root string
	// ReadOnly keeps the guest from changing files of the host, but for its standard output and error.
	ReadOnly bool
	// ShmDir is a directory of the host that nobody else can enter, for what the guest has in /dev/shm while it runs; "" for one that
	// Run makes, and removes.
	ShmDir string
	// Stdin, Stdout and Stderr are the guest's; nil for the caller's.
	Stdin, Stdout, Stderr *os.File

	// Engine is the name of the engine: see Engines; "" is AutoEngine.
	Engine string
	// Model is the guest's CPU; nil for the engine's default, x86-64-v3 where it has that.
	Model *emu.Model
	// CPUs is how many of them it sees, 0 for one.
	CPUs int
	// Compat presents the stack and the auxiliary vector as Valgrind does.
	Compat bool
	// Network is what network the guest has: by default a loopback interface, inside cgemu.
	Network syscalls.Network
	// Seed seeds what the guest takes for random.
	Seed uint64
	// SchedSeed chooses another schedule of threads and processes, 0 the default one.
	SchedSeed uint64
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
	// OnDump gets the profile when a process asks for a dump, what was counted since the
	// last one; Result.Profile is what is left. The last text of Profile.Desc says who asked. Without it
	// such profiles are lost.
	OnDump func(pid int, p *cgout.Profile)

	// DumpInstr counts by instruction, too: Profile.Insns.
	DumpInstr bool
	// TraceChildren counts what other processes than the first execute, each for itself.
	TraceChildren bool
	// OnChild gets the result of each such process when it ends; without it they are in
	// Result.Children.
	OnChild func(*Result)

	// Names says how source places are named.
	Names dwarfmap.Options
	// OnProgress, if set, is called about every ProgressEvery of the host's time while the program executes,
	// with the instructions of all processes so far and the virtual time. It changes no count.
	OnProgress    func(insns uint64, virtual time.Duration)
	ProgressEvery time.Duration
	// BeforeOutput, if set, is called before the program writes to a terminal or another device.
	BeforeOutput func()
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
	// Warnings are about symbols that could not be read, by the first process and all others.
	Warnings []error
	// Lacking are the system calls that programs made and did not get, by all processes.
	Lacking []syscalls.Lacking
	// Children are the other processes in the order in which they ended.
	Children []*Result
}

// Run runs a program to its end, or until ctx is done or MaxInsns are executed,
// and returns its profile. The error is for what keeps it from running: a file that
// is no program, a host without an engine. How the guest ends is no error.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	if len(cfg.Args) == 0 {
		return nil, errors.New("cgemu: no program")
	}
	engine, err := FindEngine(cfg.Engine)
	if err != nil {
		return nil, fmt.Errorf("cgemu: %w", err)
	}
	if cfg.Model == nil {
		cfg.Model, _ = emu.ModelByName(engine.Model)
	}
	if cfg.Caches != nil {
		if err := cfg.Caches.Check(); err != nil {
			return nil, fmt.Errorf("cgemu: %w", err)
		}
		if !cfg.Compat && cfg.Model.Name != "valgrind" {
			cfg.Model = cfg.Model.WithCaches(*cfg.Caches)
		}
	}
	if err := cfg.profilerConfig().Check(); err != nil {
		return nil, fmt.Errorf("cgemu: %w", err)
	}
	names := cfg.Names
	if names.Done == nil {
		var stop func() bool
		names.Done, stop = after(ctx, namesGrace)
		defer stop()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if engine.close != nil {
		defer engine.close()
	}
	r := &runner{cfg: &cfg, engine: engine, cancel: cancel, objects: profiler.NewObjects(names)}
	k, err := syscalls.New(r.kernelConfig())
	if err != nil {
		return nil, err
	}
	defer k.Close()
	r.objects.HostPath, r.objects.Names.Resolve = k.HostPath, k.Resolve
	exit, err := k.Run(ctx)
	if err != nil {
		return nil, fmt.Errorf("cgemu: %w", err)
	}
	if r.mismatch != nil {
		r.objects.Close()
		return nil, r.mismatch
	}
	r.first.Exit = exit
	r.first.Children, r.first.Lacking = r.children, k.Lacking()
	r.nameUnmatched()
	r.first.Warnings = r.objects.Close()
	if slices.ContainsFunc(r.first.Warnings, func(err error) bool { return errors.Is(err, dwarfmap.ErrStopped) }) {
		fmt.Fprintln(cfg.log(), "cgemu: interrupted while names were looked up: functions, files and lines not found by then are ???")
	}
	return r.first, nil
}

// namesGrace is how long names are looked up when the run was interrupted.
const namesGrace = 400 * time.Millisecond

// after returns a channel that is closed some time after ctx is done, unless stop is called before that.
func after(ctx context.Context, d time.Duration) (done <-chan struct{}, stop func() bool) {
	c := make(chan struct{})
	return c, context.AfterFunc(ctx, func() { time.AfterFunc(d, func() { close(c) }) })
}
