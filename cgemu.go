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
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/cgemu/cgemu/cachesim"
	"github.com/cgemu/cgemu/cgout"
	"github.com/cgemu/cgemu/dwarfmap"
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/internal/store"
	"github.com/cgemu/cgemu/syscalls"
)

// A Bind is a directory of the host that the guest sees at a path of its own.
type Bind struct {
	Host, Guest string
	// ReadOnly keeps the guest from changing what is in it.
	ReadOnly bool
}

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
	// Image is a container image, or an archive of a root directory, whose files are the guest's, in place of the
	// host's: it sees no others but those of Binds. What it changes in them stays in memory. Its working directory is
	// Dir if that is in one of Binds, and the image's otherwise, and its user the image's. Env and Args are what they
	// are: Image.Config has what the image says.
	Image *Image
	// Overlay keeps what the guest changes in files, those below Root if that is set, in memory: the host's stay as
	// they are, but for its standard output and error.
	Overlay bool
	// Isolate is a directory. The guest finds it at /work, and nothing tells it on which machine it is: files are as
	// with Overlay, /tmp is empty, and what is in /work is the guest's own, and was last changed in 2000. Dir, which
	// must be that directory or one below, and Path may be the host's names.
	Isolate string
	// Binds are directories of the host that the guest sees at paths of its own, whatever Root is. What it changes
	// there stays.
	Binds []Bind
	// ReadOnly keeps the guest from changing files of the host, but for its standard output and error.
	ReadOnly bool
	// ShmDir is a directory of the host that nobody else can enter, for what the guest has in /dev/shm while it runs;
	// "" for one that Run makes, and removes.
	ShmDir string
	// CodeDir is a directory of the host in which translated code and names are kept for the next run of the program,
	// which is made if need be; "" keeps none. It must be the user's alone, or nothing is kept. No count or name
	// depends on it.
	CodeDir string
	// Stdin, Stdout and Stderr are the guest's; nil for the null device. An *os.File is the guest's own (but see
	// HostStdio), and stays open; what is in memory (bytes.Buffer, bytes.Reader, strings.Reader) is read to its end,
	// and a file to the guest; other readers and all writers are pipes. An error of theirs is one of the run's. Run
	// returns when the writers have all that was written, whatever the context says; a reader may wait on.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Files are what else the guest has open, by descriptor, from 3 on: not if the run is recorded.
	Files map[int]*os.File
	// HostStdio shows the guest what its standard files are. Otherwise its outputs are pipes to it, wherever they go,
	// and so is an input that is a terminal: what it executes does not depend on that.
	HostStdio bool
	// Record, if set, records the run: not with RealTime, Compat, Sysroot, Binds and HostStdio. Replay is a recording
	// of which the run is a repetition: Recording.Config makes such a Config.
	Record *Recorder
	Replay *Recording
	// HostEtc shows the guest all files of the host's /etc. Otherwise those that nearly every program reads
	// (ld.so.cache, passwd, group, nsswitch.conf, localtime, timezone) are others, which depend on less of what is
	// installed on the host. With Root, Sysroot and Compat they are what they are.
	HostEtc bool

	// Engine is the name of the engine: see Engines; "" is AutoEngine.
	Engine string
	// CPU names the guest's CPU model: v1, v2, v3, v4 or valgrind, with features that it is to have or to lack as in
	// "v3,+erms,-avx2"; "" is the engine's default, v3 where it has that.
	CPU string
	// CPUs is how many of them it sees, 0 for one.
	CPUs int
	// Compat presents the stack and the auxiliary vector as Valgrind does.
	Compat bool
	// Network is what network the guest has: "loopback", inside cgemu, which "" stands for, "none" or "host".
	Network string
	// Seed seeds what the guest takes for random.
	Seed uint64
	// SchedSeed chooses another schedule of threads and processes, 0 the default one.
	SchedSeed uint64
	// Start is what the guest's clock says when the program begins. Zero is the beginning of 2030: what the guest makes
	// is newer than any file of the host then. Certificates of the host's network are valid today.
	Start time.Time
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

	// OnGoBenchmark, if set, says that the program is a test binary of Go's, of which only the benchmarks count: what
	// is executed while their timers run. It gets that, by event, each time that a benchmark's function has returned;
	// package testing calls it with growing b.N, and prints a result after the last call. Processes that the program
	// starts do not count.
	OnGoBenchmark func(events []string, counts []uint64)
	// DumpInstr counts by instruction, too: Profile.Insns.
	DumpInstr bool
	// CallGraph records who called whom, how often and at what inclusive cost: Profile.Graph. The engines jit and
	// interp can.
	CallGraph bool
	// CollectJumps counts jumps within functions, too: CallGraph.Jumps of Profile.Graph. It needs CallGraph.
	CollectJumps bool
	// SeparateCallers tells functions apart by up to so many callers, 0 for none; functions that patterns in
	// SeparateCallersOf name by the most that these say. Names in the profile are those of a function and its callers,
	// with `'` in between. Both need CallGraph, and the engine interp, which "" stands for then.
	SeparateCallers   int
	SeparateCallersOf []CallersOf
	// Inline attributes costs, and calls of a call graph, to functions that were inlined, where debug information tells
	// of them: without it they are the costs of the function into which they were inlined, as Cachegrind has it.
	Inline bool
	// SeparateThreads counts threads apart: Profile.Threads has what each counted, in the order in which they ran
	// first. Threads of a profile with counts by instruction have these, the profile itself has none. Each change from
	// one thread to another takes time.
	SeparateThreads bool
	// TraceChildren counts what other processes than the first execute, each for itself.
	TraceChildren bool
	// OnChild gets the result of each such process when it ends; without it they are in
	// Result.Children.
	OnChild func(*Result)

	// Names says how source places are named.
	Names dwarfmap.Options
	// OnProgress, if set, is called when about ProgressEvery of the host's time has passed since it returned last,
	// while the program executes, with the instructions of all processes so far and the virtual time. It changes no
	// count. With 0 it is called as often as can be.
	OnProgress    func(insns uint64, virtual time.Duration)
	ProgressEvery time.Duration
	// OnLive, if set, is called as often, with a function that returns what the processes that are running have counted
	// so far, without counts by instruction; it may be called until OnLive returns. It changes no count.
	OnLive func(profiles func() []*Result)
	// Reclaim, if set, is called when the program has ended and what was known of its code, much, is garbage; looking
	// names up takes as much again. A program whose garbage collector waits for more than that can have it collect
	// here.
	Reclaim func()
	// OnOpen, if set, is called with the path of each regular file of the host that the program opens, data files and
	// libraries among them.
	OnOpen func(path string)
	// BeforeOutput, if set, is called before the program writes to a terminal or another device.
	BeforeOutput func()
	// Strace gets a line for each system call, if it is not nil; Log a line for each thing not supported, and other
	// messages: nil stands for os.Stderr.
	Strace, Log io.Writer
	// Debug gets what the engine does: only the engine jit tells.
	Debug Debug
}

// A Debug has writers for what an engine does; nil for what is not wanted. The manual's section "Instruments" says what
// they get. While one of them is called no engine of this Go process goes on: it must not wait for a run.
type Debug struct {
	// Blocks gets each block that is translated, Trace each instruction that is executed, one by one, which is slow.
	// PerfMap gets the lines of the file from which the host's perf learns of the guest's functions, Profile those of
	// one that says what code is for instead.
	Blocks, Trace, PerfMap, Profile io.Writer
}

// CountingRules is the version of docs/counting.md: another where the same program may count otherwise.
const CountingRules = "1"

// A Result is what a run leaves.
type Result struct {
	Profile *cgout.Profile
	Exit    Exit
	// CPU is the name of the guest's CPU model; Objects are the files of the host, sorted, whose code was executed, by
	// all processes. Programs are those of them that were executed as programs: the first one, and those of execve(2).
	CPU      string
	Objects  []string
	Programs []string
	// PID is the guest's process id, the %p of file names.
	PID int
	// Warnings are about symbols that could not be read, by the first process and all others.
	Warnings []error
	// Unmatched are the options, as in `--from=main`, whose functions no program or library has: Config.Log tells why.
	Unmatched []string
	// Unsupported are the system calls that programs made and did not get, by all processes.
	Unsupported []UnsupportedCall
	// Children are the other processes in the order in which they ended.
	Children []*Result
}

// An UnsupportedCall is a system call that a program made and that is missing or refused, or the operation asked for.
type UnsupportedCall struct {
	Name   string
	Number uint64
	// Answer is the error that the program got, Calls how often.
	Answer string
	Calls  uint64
}

// DefaultCodeDir is where the command keeps translated code and names, "" if there is no place for that.
func DefaultCodeDir() string { return store.DefaultDir() }

// Run runs a program to its end, or until ctx is done or MaxInsns are executed,
// and returns its profile. The error is for what keeps it from running: a file that
// is no program, a host without an engine. How the guest ends is no error.
//
// Runs may be made at once from several goroutines, and may share a Replay or an Image; one of them executes at a time.
// Functions of cfg, Strace and Log are called one after the other, while the program waits, on a goroutine of Run's: if
// one panics, or ends the goroutine as testing.T's FailNow does, so does Run, in the caller's. They may call Run.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	if len(cfg.Args) == 0 {
		return nil, errors.New("cgemu: no program")
	}
	engine, err := cfg.findEngine()
	if err != nil {
		return nil, fmt.Errorf("cgemu: %w", err)
	}
	if cfg.Debug != (Debug{}) && engine.Name != "jit" {
		return nil, fmt.Errorf("cgemu: engine %s does not tell what it does: Debug needs jit", engine.Name)
	}
	model, err := cfg.model(engine)
	if err == nil {
		err = cfg.profilerConfig().Check()
	}
	if err == nil {
		err = cfg.checkRecording()
	}
	if err == nil {
		err = cfg.checkImage()
	}
	if err == nil {
		err = cfg.checkFiles()
	}
	if err == nil {
		err = cfg.checkValues()
	}
	network, known := networks[cfg.Network]
	if err == nil && !known {
		err = fmt.Errorf("network %q: not one of loopback, none, host", cfg.Network)
	}
	if err != nil {
		return nil, fmt.Errorf("cgemu: %w", err)
	}
	std, err := cfg.openStreams()
	if err != nil {
		return nil, fmt.Errorf("cgemu: standard streams: %w", err)
	}
	res, err := (&runner{cfg: &cfg, engine: engine, model: model, network: network, std: std}).run(ctx)
	err = inOwnName(err)
	if e := std.close(); err == nil && e != nil {
		return res, fmt.Errorf("cgemu: %w", e)
	}
	return res, err
}

// checkValues refuses values that stand for nothing.
func (cfg *Config) checkValues() error {
	for _, text := range slices.Concat([]string{cfg.Path}, cfg.Args, cfg.Env) {
		if strings.Contains(text, "\x00") {
			return fmt.Errorf("%q: a text for a program cannot have a zero byte", text)
		}
	}
	// What can be said in nanoseconds from 1970 on, and some decades to run.
	first, last := time.Date(1680, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)
	switch {
	case cfg.CPUs < 0 || cfg.CPUs > maxCPUs:
		return fmt.Errorf("%d CPUs: 0 to %d expected", cfg.CPUs, maxCPUs)
	case !cfg.Start.IsZero() && (cfg.Start.Before(first) || cfg.Start.After(last)):
		return fmt.Errorf("a start in %d: the years 1680 to 2199 are expected", cfg.Start.Year())
	case cfg.SeparateCallers < 0:
		return fmt.Errorf("%d callers told apart: 0 or more expected", cfg.SeparateCallers)
	case cfg.Isolate != "" && (cfg.Network == "host" || cfg.RealTime || cfg.Compat):
		return errors.New("an isolated run has no network of the host's, no real time and no Compat")
	case cfg.Overlay && cfg.ReadOnly:
		return errors.New("an overlay and files that may only be read: not both")
	}
	return nil
}

// networks are what Config.Network may name.
var networks = map[string]syscalls.Network{
	"": syscalls.NetworkLoopback, "loopback": syscalls.NetworkLoopback, "none": syscalls.NetworkNone, "host": syscalls.NetworkHost,
}

// fitsLines says, as Cachegrind does of 32 bytes, that the largest register must not be larger than a cache's lines: a
// reference is to two at most.
func fitsLines(model *emu.Model, caches *cachesim.Config) error {
	const register = 64
	if caches != nil && model.Has("avx512f") && caches.MinLine() < register {
		return fmt.Errorf("the minimum line size (%d) must be equal to or larger than the maximum register size (%d with --cpu=%s)", caches.MinLine(), register, model.Name)
	}
	return nil
}

// model returns the guest's CPU, which tells of the caches that are simulated, unless it is to be Valgrind's.
func (cfg *Config) model(engine EngineInfo) (*emu.Model, error) {
	model, err := emu.ModelByName(cmp.Or(cfg.CPU, engine.Model))
	if err != nil {
		return nil, err
	}
	if cfg.Caches != nil {
		if err := cfg.Caches.Check(); err != nil {
			return nil, err
		}
	}
	if err := fitsLines(model, cfg.Caches); err != nil {
		return nil, err
	}
	told := cfg.Caches
	if cfg.Replay != nil {
		told = cfg.Replay.s.Caches // what is simulated now may be others
	}
	if told != nil && !cfg.Compat {
		if err := told.Check(); err != nil {
			return nil, err
		}
		model = model.WithCaches(*told)
	}
	return model, nil
}
