package cgemu

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cgemu/cgemu/dwarfmap"
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/lockstep"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/internal/enginelog"
	"github.com/cgemu/cgemu/internal/jitnames"
	"github.com/cgemu/cgemu/internal/profiler"
	"github.com/cgemu/cgemu/internal/store"
	"github.com/cgemu/cgemu/loader"
	"github.com/cgemu/cgemu/syscalls"
)

// A runner has what the processes of a run share.
type runner struct {
	cfg      *Config
	engine   EngineInfo
	model    *emu.Model
	network  syscalls.Network
	std      *streams
	objects  *profiler.Objects
	first    *Result
	children []*Result
	recorder *syscalls.Recorder // nil if the run is not recorded
	// programs are the guest's names of the files that processes executed as programs.
	programs []string
	// live are the profilers of the processes that run.
	live map[int]*profiler.Profiler
	// mismatch is what CheckEngine found, and cancel ends the run then.
	mismatch *EngineMismatch
	cancel   func()
	// unmatched are the options that name functions none of which was in a file of those that ended.
	unmatched []string
}

// run makes the run.
func (r *runner) run(ctx context.Context) (*Result, error) {
	names := r.cfg.Names
	if names.Done == nil {
		var stop func() bool
		names.Done, stop = after(ctx, namesGrace)
		defer stop()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer r.closeEngines()
	r.cancel, r.objects = cancel, profiler.NewObjects(names)
	if s := store.Open(r.cfg.CodeDir, store.DefaultLimit); s != nil {
		r.objects.Keeper = s
		if r.engine.keep != nil {
			r.engine.keep(s, r.cfg.Path)
		}
	}
	kernel := r.kernelConfig()
	if err := r.startRecording(&kernel.Files); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotRecorded, err)
	}
	k, err := syscalls.New(kernel)
	if err != nil {
		return nil, err
	}
	defer k.Close()
	defer r.closeEngines() // what k closes is kept for nobody
	if r.objects.HostPath, r.objects.Names.Resolve = k.HostPath, k.Resolve; r.cfg.Record != nil || r.cfg.Replay != nil || r.cfg.Image != nil {
		// The guest's files have all the names: those of the host are others, or not there when the run is repeated.
		r.objects.HostPath = func(guest string) (string, bool) { return guest, true }
		r.objects.Names.Resolve, r.objects.Names.Open = nil, k.OpenObject
	}
	if r.cfg.Image != nil {
		r.objects.Stat = k.StatObject // files of the host that have contents come and go
	}
	exit, err := k.Run(ctx)
	if err != nil {
		return nil, fmt.Errorf("cgemu: %w", err)
	}
	if r.mismatch != nil {
		r.objects.Close()
		return nil, r.mismatch
	}
	fault := r.first.Exit.Fault
	if r.first.Exit = exitOf(exit); exit.Fault != nil {
		r.first.Exit.Fault = fault // its place was looked up when the process ended
	}
	r.first.Children = r.children
	for _, l := range k.UnsupportedCalls() {
		r.first.Unsupported = append(r.first.Unsupported, UnsupportedCall(l))
	}
	r.nameUnmatched()
	r.first.CPU, r.first.Objects, r.first.Programs = r.model.Name, r.objects.Paths(), r.hostPaths(r.programs)
	for _, err := range r.objects.Close() {
		r.first.Warnings = append(r.first.Warnings, &runError{withoutParts(err), err})
	}
	if err := r.endRecording(exit.Interrupted); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(r.first.Warnings, func(err error) bool { return errors.Is(err, dwarfmap.ErrStopped) }) {
		fmt.Fprintln(r.cfg.log(), "cgemu: interrupted while names were looked up: functions, files and lines not found by then are ???")
	}
	return r.first, nil
}

// closeEngines frees the engines that were kept for processes to come.
func (r *runner) closeEngines() {
	if r.engine.close != nil {
		r.engine.close()
	}
}

// hostPaths are the names that objects have of guest files, sorted: the host's, of those that it has.
func (r *runner) hostPaths(guest []string) (out []string) {
	for _, g := range guest {
		if p, ok := r.objects.HostPath(g); ok {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// namesGrace is how long names are looked up when the run was interrupted.
const namesGrace = 400 * time.Millisecond

// after returns a channel that is closed some time after ctx is done, unless stop is called before that.
func after(ctx context.Context, d time.Duration) (done <-chan struct{}, stop func() bool) {
	c := make(chan struct{})
	return c, context.AfterFunc(ctx, func() { time.AfterFunc(d, func() { close(c) }) })
}

// log returns where messages go.
func (cfg *Config) log() io.Writer {
	if cfg.Log == nil {
		return os.Stderr
	}
	return cfg.Log
}

// nameUnmatched names functions that were asked for and not seen.
func (r *runner) nameUnmatched() {
	r.first.Unmatched = r.unmatched
	for _, option := range r.unmatched {
		_, pattern, _ := strings.Cut(option, "=")
		switch h, found := r.objects.Hint(pattern, r.hostPaths(r.programs)); {
		case !found:
			fmt.Fprintf(r.cfg.log(), "cgemu: %s: no program or library that was loaded has such a function\n", option)
		case h.Qualified != "":
			fmt.Fprintf(r.cfg.log(), "cgemu: %s: no function has this name; did you mean '%s'? ('*%s' means all whose names end so)\n", option, h.Qualified, pattern)
		default:
			fmt.Fprintf(r.cfg.log(), "cgemu: %s: %s was inlined where it is called in %s: name the function that calls it, or keep it from being inlined "+
				"(__attribute__((noinline)), #[inline(never)], //go:noinline); what it costs itself --inline=yes tells\n", option, h.Inlined, filepath.Base(h.Object))
		}
	}
}

// countChildren reports whether other processes than the first are counted.
func (cfg *Config) countChildren() bool { return cfg.TraceChildren && cfg.OnGoBenchmark == nil }

// newEngine makes the engine of a process; parent is that of the process which made it, nil for the first.
func (r *runner) newEngine(pid int, parent *profiler.Profiler, m *mem.Space, env emu.Env) (emu.Engine, error) {
	cfg := r.cfg.profilerConfig()
	discard := pid != syscalls.DefaultPID && !r.cfg.countChildren()
	if discard {
		cfg.Events, cfg.Cycles, cfg.Caches, cfg.Branches, cfg.CallGraph = nil, false, nil, false, false
		cfg.Callers, cfg.CallersOf, cfg.Jumps = 0, nil, false
	}
	var p *profiler.Profiler
	debug := enginelog.Writers(r.cfg.Debug).New(func(a emu.Addr) enginelog.Place {
		at := p.Place(a)
		return enginelog.Place{PID: p.PID(), Func: at.Func, File: at.File, Line: at.Line}
	})
	ec := r.engineConfig(cfg, env, debug)
	if cfg.CallGraph {
		ec.Function, ec.Others = func(a emu.Addr) emu.Function { return p.Function(a) }, cfg.OtherEvents()
		ec.Jumps = cfg.Jumps
		ec.Callers, ec.Names = cfg.SeparatedBy(), func(a emu.Addr) []uint32 { return p.Names(a) }
	}
	e, err := r.engine.make(m, ec)
	if err != nil {
		return nil, err
	}
	if discard {
		p = profiler.NewDiscarding(e, m, pid, cfg, r.objects)
		return p, nil
	}
	p = profiler.New(e, m, pid, cfg, r.objects)
	if cfg.CallGraph && !p.RecordsCalls() {
		e.Close()
		return nil, fmt.Errorf("engine %s: it records no calls for a call graph: jit and interp do", r.engine.Name)
	}
	if k, ok := e.(*lockstep.Engine); ok {
		k.OnMismatch = func(d lockstep.Mismatch) { r.mismatched(p, d) }
	}
	if parent != nil {
		p.Inherit(parent)
	}
	r.counts(p)
	return p, nil
}

// counts notes that a process' profiler counts, for Config.OnLive.
func (r *runner) counts(p *profiler.Profiler) {
	if r.cfg.OnLive == nil {
		return
	}
	if r.live == nil {
		r.live = map[int]*profiler.Profiler{}
	}
	r.live[p.PID()] = p
}

// progressed tells how far the run is.
func (r *runner) progressed(insns uint64, virtual time.Duration) {
	if r.cfg.OnProgress != nil {
		r.cfg.OnProgress(insns, virtual)
	}
	if r.cfg.OnLive == nil {
		return
	}
	r.cfg.OnLive(func() (list []*Result) {
		for _, pid := range slices.Sorted(maps.Keys(r.live)) {
			if p := r.live[pid]; !p.Discards() {
				list = append(list, &Result{Profile: p.Snapshot(), PID: pid})
			}
		}
		return list
	})
}

// mismatched ends the run with a mismatch that a process' engine found.
func (r *runner) mismatched(p *profiler.Profiler, d lockstep.Mismatch) {
	loc := p.Place(d.At)
	r.mismatch = &EngineMismatch{
		At: uint64(d.At), Insn: d.Insn, Place: fmt.Sprintf("%s, %s:%d", loc.Func, loc.File, loc.Line), What: d.What, From: d.From,
	}
	r.cancel()
}

// watchNames returns what reads the names of functions that a guest makes while it runs from the file called name: nil
// if that is no file of such names.
func (r *runner) watchNames(name string) func(e emu.Engine, b []byte) {
	var p *profiler.Profiler
	parser, pid := jitnames.NewParser(name, func(f jitnames.Function) { p.Named(f) }, r.objects.Warn)
	if parser == nil || r.cfg.Compat {
		return nil
	}
	return func(e emu.Engine, b []byte) {
		if p = e.(*profiler.Profiler); p.PID() == pid && !p.Discards() {
			parser.Write(b)
		}
	}
}

// ended takes the result of a process.
func (r *runner) ended(e syscalls.End) {
	p := e.Engine.(*profiler.Profiler)
	delete(r.live, e.PID)
	if p.Discards() {
		return
	}
	r.unmatched = p.Unmatched(r.unmatched)
	if e.Last && !e.Exit.Interrupted { // then there is no time to lose
		r.closeEngines()
		p.Finish()
	}
	res := &Result{Profile: p.End(), Exit: exitOf(e.Exit), PID: e.PID}
	if f := res.Exit.Fault; f != nil {
		at := p.Place(e.Exit.RIP)
		f.Func, f.File, f.Line = at.Func, at.File, at.Line
	}
	switch {
	case r.first == nil && e.PID == syscalls.DefaultPID:
		r.first = res
	case r.cfg.OnChild != nil:
		r.cfg.OnChild(res)
	default:
		r.children = append(r.children, res)
	}
}

// exitOf is how a process ended, in the terms of this package. The source place of a fault is not known here.
func exitOf(e syscalls.Exit) Exit {
	x := Exit{Code: e.Code, Signal: e.Signal, Interrupted: e.Interrupted, Limit: e.Limit, Deadlock: e.Deadlock, Abandoned: e.Abandoned}
	if e.Fault != nil {
		x.Fault = &Fault{Text: e.Fault.Error(), Address: uint64(e.RIP)}
	}
	return x
}

func (r *runner) kernelConfig() syscalls.Config {
	cfg := r.cfg
	var onProgress func(uint64, time.Duration)
	if cfg.OnProgress != nil || cfg.OnLive != nil {
		onProgress = r.progressed
	}
	return syscalls.Config{KernelConfig: syscalls.KernelConfig{
		ChecksAccesses: r.engine.checks,
		CopiesOnWrite:  r.engine.copiesOnWrite,
		SelfChecks:     r.engine.selfChecks,
		NewEngine: func(m *mem.Space, env emu.Env) (emu.Engine, error) {
			return r.newEngine(syscalls.DefaultPID, nil, m, env)
		},
		ForkEngine: func(pid int, parent emu.Engine, m *mem.Space, env emu.Env) (emu.Engine, error) {
			return r.newEngine(pid, parent.(*profiler.Profiler), m, env)
		},
		OnClientRequest: func(e emu.Engine, code uint64, args [5]uint64) (uint64, bool) {
			return e.(*profiler.Profiler).Request(code, args)
		},
		OnExec: func(e emu.Engine, p *loader.Program) {
			r.programs = append(r.programs, p.Images[0].Path)
			if e != nil {
				e.(*profiler.Profiler).Exec(p.Argv)
			}
		},
		OnUnload: func(e emu.Engine) { e.(*profiler.Profiler).Unload() },
		OnMove: func(from, to emu.Engine, pid int) {
			p := from.(*profiler.Profiler)
			p.MoveTo(to.(*profiler.Profiler), pid, !cfg.countChildren())
			r.counts(p)
		},
		OnMap: func(e emu.Engine, v mem.VMA) { e.(*profiler.Profiler).Mapped(v) },
		OnHandler: func(e emu.Engine, c *emu.CPU, begins bool) {
			if p := e.(*profiler.Profiler); begins {
				p.SignalBegins(c)
			} else {
				p.SignalEnds(c)
			}
		},
		OnThreadEnd: func(e emu.Engine, c *emu.CPU) { e.(*profiler.Profiler).ThreadEnds(c) },
		OnEnd:       r.ended,
		Place:       func(e emu.Engine, a emu.Addr) string { return e.(*profiler.Profiler).Describe(a) },

		OnProgress: onProgress, ProgressEvery: cfg.ProgressEvery,

		CPUID: r.model.CPUID, CPUs: cfg.CPUs, Compat: cfg.Compat, Epoch: cfg.Start, RealTime: cfg.RealTime, MaxInsns: cfg.MaxInsns,
		Seed: cfg.Seed, SchedSeed: cfg.SchedSeed, Log: cfg.Log,
	}, Files: syscalls.FileConfig{
		Dir: cfg.Dir, Sysroot: cfg.Sysroot, Root: cfg.Root, Image: cfg.Image.opened(), ImageDir: cfg.Image.dir(), User: cfg.Image.user(), HostDirs: cfg.hostDirs(), Overlay: cfg.Overlay, Isolate: cfg.Isolate, Binds: binds(cfg.Binds), ReadOnly: cfg.ReadOnly, ShmDir: cfg.ShmDir,
		Stdin: r.std.stdin, Stdout: r.std.stdout, Stderr: r.std.stderr, Inherited: cfg.Files, BeforeOutput: cfg.BeforeOutput, OnOpen: cfg.OnOpen, Watch: r.watchNames,
		PipedStdin: r.std.piped, HostStdio: cfg.HostStdio || cfg.Compat, HostEtc: cfg.HostEtc || cfg.Compat,
	}, Path: cfg.guestPath(), Args: cfg.Args, Env: cfg.Env, Network: r.network, Strace: cfg.Strace}
}

// guestPath is where the guest finds the program: elsewhere than the host if it is isolated in a directory above.
func (cfg *Config) guestPath() string {
	if !filepath.IsAbs(cfg.Path) {
		return filepath.ToSlash(cfg.Path)
	}
	if cfg.Isolate != "" {
		dir, err := filepath.Abs(cfg.Isolate)
		if err != nil {
			return cfg.Path
		}
		if rest, err := filepath.Rel(dir, cfg.Path); err == nil && filepath.IsLocal(rest) {
			return syscalls.WorkDir + "/" + filepath.ToSlash(rest)
		}
	}
	if cfg.hasOwnRoot() {
		return syscalls.GuestPath(cfg.Path)
	}
	return cfg.Path
}

// hasOwnRoot reports whether the guest's root is neither the host's nor one that it was given.
func (cfg *Config) hasOwnRoot() bool {
	return syscalls.HasOwnRoot && cfg.Root == "" && cfg.Image == nil && cfg.Replay == nil
}

// hostDirs are the directories of the host that a guest with a root of ours has besides the one in which it works:
// where its program is.
func (cfg *Config) hostDirs() []string {
	if !cfg.hasOwnRoot() || !filepath.IsAbs(cfg.Path) {
		return nil
	}
	return []string{filepath.Dir(cfg.Path)}
}

// binds are what is bound, for the kernel.
func binds(list []Bind) (out []syscalls.Bind) {
	for _, b := range list {
		out = append(out, syscalls.Bind(b))
	}
	return out
}
