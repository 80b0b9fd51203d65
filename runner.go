package cgemu

import (
	"fmt"
	"io"
	"os"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/lockstep"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/internal/profiler"
	"github.com/cgemu/cgemu/loader"
	"github.com/cgemu/cgemu/syscalls"
)

// A runner has what the processes of a run share.
type runner struct {
	cfg      *Config
	engine   EngineInfo
	objects  *profiler.Objects
	first    *Result
	children []*Result
	// mismatch is what CheckEngine found, and cancel ends the run then.
	mismatch *EngineMismatch
	cancel   func()
	// unmatched are the options that name functions none of which was in a file of those that ended.
	unmatched []string
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
	for _, option := range r.unmatched {
		fmt.Fprintf(r.cfg.log(), "cgemu: %s: no program or library that was loaded has such a function\n", option)
	}
}

// newEngine makes the engine of a process; parent is that of the process which made it, nil for the first.
func (r *runner) newEngine(pid int, parent *profiler.Profiler, m *mem.Space, env emu.Env) (emu.Engine, error) {
	cfg := r.cfg.profilerConfig()
	discard := pid != syscalls.DefaultPID && !r.cfg.TraceChildren
	if discard {
		cfg.Events, cfg.Cycles, cfg.Caches, cfg.Branches = nil, false, nil, false
	}
	e, err := r.engine.make(m, r.cfg.engineConfig(cfg, env))
	if err != nil {
		return nil, err
	}
	if discard {
		return profiler.NewDiscarding(e, m, pid, cfg, r.objects), nil
	}
	p := profiler.New(e, m, pid, cfg, r.objects)
	if k, ok := e.(*lockstep.Engine); ok {
		k.OnMismatch = func(d lockstep.Mismatch) { r.mismatched(p, d) }
	}
	if parent != nil {
		p.Inherit(parent)
	}
	return p, nil
}

// mismatched ends the run with a mismatch that a process' engine found.
func (r *runner) mismatched(p *profiler.Profiler, d lockstep.Mismatch) {
	loc := p.Place(d.At)
	r.mismatch = &EngineMismatch{
		At: uint64(d.At), Insn: d.Insn, Place: fmt.Sprintf("%s, %s:%d", loc.Func, loc.File, loc.Line), What: d.What, From: d.From,
	}
	r.cancel()
}

// ended takes the result of a process.
func (r *runner) ended(e syscalls.End) {
	p := e.Engine.(*profiler.Profiler)
	if p.Discards() {
		return
	}
	r.unmatched = p.Unmatched(r.unmatched)
	res := &Result{Profile: p.End(), Exit: e.Exit, PID: e.PID}
	if e.Exit.Fault != nil {
		res.FaultAt = p.Place(e.Exit.RIP)
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

func (r *runner) kernelConfig() syscalls.Config {
	cfg := r.cfg
	return syscalls.Config{
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
			if e != nil {
				e.(*profiler.Profiler).Exec(p.Argv)
			}
		},
		OnMove: func(from, to emu.Engine, pid int) {
			from.(*profiler.Profiler).MoveTo(to.(*profiler.Profiler), pid, !cfg.TraceChildren)
		},
		OnMap: func(e emu.Engine, v mem.VMA) { e.(*profiler.Profiler).Mapped(v) },
		OnEnd: r.ended,
		Place: func(e emu.Engine, a emu.Addr) string { return e.(*profiler.Profiler).Describe(a) },

		OnProgress: cfg.OnProgress, ProgressEvery: cfg.ProgressEvery, BeforeOutput: cfg.BeforeOutput,
		SchedSeed: cfg.SchedSeed,

		CPUID:    cfg.Model.CPUID,
		Path:     cfg.Path,
		Args:     cfg.Args,
		Env:      cfg.Env,
		Dir:      cfg.Dir,
		Sysroot:  cfg.Sysroot,
		Root:     cfg.Root,
		ReadOnly: cfg.ReadOnly,
		ShmDir:   cfg.ShmDir,
		Stdin:    cfg.Stdin,
		Stdout:   cfg.Stdout,
		Stderr:   cfg.Stderr,
		Network:  cfg.Network,
		Seed:     cfg.Seed,
		Compat:   cfg.Compat,
		CPUs:     cfg.CPUs,
		RealTime: cfg.RealTime,
		MaxInsns: cfg.MaxInsns,
		Strace:   cfg.Strace,
		Log:      cfg.Log,
	}
}
