package cgemu

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/interp"
	"github.com/cgemu/cgemu/emu/jit"
	"github.com/cgemu/cgemu/emu/lockstep"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/emu/unicorn"
	"github.com/cgemu/cgemu/internal/profiler"
)

// AutoEngine is the name that stands for the first engine of Engines that can be used.
const AutoEngine = "auto"

// CheckEngine and CheckUnicornEngine are the names of engines that compare two: jit with interp, and unicorn with
// interp.
const (
	CheckEngine        = "check"
	CheckUnicornEngine = "check-unicorn"
)

// An EngineInfo describes an engine.
type EngineInfo struct {
	// Name is what Config.Engine takes, Model the CPU model it shows by default.
	Name, Model string
	// Needs says what the engine needs, Found what of that was found.
	Needs, Found string
	// Err says why it cannot be used; nil if it can.
	Err error
	// Warning is what its users should know, "" if nothing.
	Warning string

	make func(m *mem.Space, cfg emu.Config) (emu.Engine, error)
	// close frees what engines left to others; nil if there is nothing.
	close func()
	// keep has code kept for the next run of a program; nil if the engine has none.
	keep func(images jit.Images, program string)
	// checks says that it looks at the guest's permissions before each access, and needs no signals.
	checks bool
	// copiesOnWrite says that it copies memory that a fork did not copy when the guest accesses it.
	copiesOnWrite bool
	// selfChecks says that it sees itself whether code on pages that are stored to often is what it was.
	selfChecks bool
	// unlisted says that AutoEngine does not stand for it.
	unlisted bool
	// recordsExceptions says that it records floating-point exceptions as a CPU does.
	recordsExceptions bool
}

// Engines returns the engines of this build, in the order in which AutoEngine tries them.
func Engines() []EngineInfo {
	found, err := unicorn.Available()
	pool := new(jit.Pool)
	list := []EngineInfo{
		{
			Name: "jit", Model: "v3", Needs: "Linux on amd64, a CPU of x86-64-v3", Found: "translates to this host's code",
			Err: jit.Available(), make: pool.New, close: pool.Close, keep: pool.Keep, copiesOnWrite: true, selfChecks: true, recordsExceptions: true,
		},
		{Name: "interp", Model: "v3", Needs: "Linux, macOS, FreeBSD or Windows", Found: "executes in Go", Err: mem.Available(), make: interp.New, checks: true, selfChecks: true},
		{
			Name: "unicorn", Model: unicorn.DefaultModel, Needs: "Linux on amd64 or arm64, libunicorn 2", Found: found,
			Err: err, Warning: unicorn.Warning(), make: unicorn.New,
		},
	}
	return append(list,
		EngineInfo{
			Name: CheckEngine, Model: "v3", Needs: "what jit needs", Found: "compares jit with interp", Err: list[0].Err, unlisted: true, close: pool.Close,
			make: compared(list[0], list[1]),
		},
		EngineInfo{
			Name: CheckUnicornEngine, Model: unicorn.DefaultModel, Needs: "what unicorn needs", Found: "compares unicorn with interp",
			Err: list[2].Err, Warning: list[2].Warning, unlisted: true, make: compared(list[2], list[1]),
		})
}

// compared makes an engine that does what the first one does, and compares that with the second.
func compared(first, second EngineInfo) func(m *mem.Space, cfg emu.Config) (emu.Engine, error) {
	return func(m *mem.Space, cfg emu.Config) (emu.Engine, error) {
		return lockstep.New(m, cfg.Env, cfg.Model, first.recordsExceptions, [2]lockstep.Factory{first.factory(cfg), second.factory(cfg)})
	}
}

// FindEngine returns the engine of a name, or why there is none; "" is AutoEngine.
func FindEngine(name string) (EngineInfo, error) {
	list := Engines()
	var names []string
	var errs []error
	for _, e := range list {
		names = append(names, e.Name)
		switch {
		case name == e.Name:
			return e, e.Err
		case (name == "" || name == AutoEngine) && e.Err == nil && !e.unlisted:
			return e, nil
		}
		if !e.unlisted {
			errs = append(errs, e.Err)
		}
	}
	if name == "" || name == AutoEngine {
		return EngineInfo{}, fmt.Errorf("no engine runs here: %w", errors.Join(errs...))
	}
	return EngineInfo{}, fmt.Errorf("engine %q: not one of %s, %s", name, AutoEngine, strings.Join(names, ", "))
}

// factory makes engines for lockstep.
func (i EngineInfo) factory(cfg emu.Config) lockstep.Factory {
	return func(m *mem.Space, env emu.Env, replica bool) (emu.Engine, error) {
		cfg := cfg
		cfg.Env = env
		if replica {
			cfg.Events, cfg.Caches, cfg.Branches, cfg.Function = 0, nil, false, nil
		}
		return i.make(m, cfg)
	}
}

// An EngineMismatch is the first place where the two engines that CheckEngine compares did not do the same.
type EngineMismatch struct {
	// At is the instruction's address, Insn its text, Place its source line.
	At          uint64
	Insn, Place string
	// What differs behind it, From are the registers in front of it.
	What, From string
}

func (d *EngineMismatch) Error() string {
	return fmt.Sprintf("the engines differ behind %#x: %s (%s): %s; in front of it: %s", d.At, d.Insn, d.Place, d.What, d.From)
}

// engineConfig returns what an engine is to know of a process that is profiled by p.
func (r *runner) engineConfig(p *profiler.Config, env emu.Env, debug *emu.Debug) emu.Config {
	return emu.Config{
		Model: r.model, Env: env, RepOnce: r.cfg.RepOnce, Limited: r.cfg.MaxInsns > 0, Events: p.EngineEvents(), Caches: p.Caches, Branches: p.Branches, Debug: debug,
	}
}
