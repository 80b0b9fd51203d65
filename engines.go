package cgemu

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/jit"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/emu/unicorn"
)

// AutoEngine is the name that stands for the first engine of Engines that can be used.
const AutoEngine = "auto"

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

	make func(m *mem.Space, env emu.Env, cfg *Config) (emu.Engine, error)
	// close frees what engines left to others; nil if there is nothing.
	close func()
	// unlisted says that AutoEngine does not stand for it.
	unlisted bool
}

// Engines returns the engines of this build, in the order in which AutoEngine tries them.
func Engines() []EngineInfo {
	found, err := unicorn.Available()
	pool := new(jit.Pool)
	list := []EngineInfo{
		{
			Name: "jit", Model: "v3", Needs: "Linux on amd64, a CPU of x86-64-v3, FSGSBASE", Found: "translates to this host's code",
			Err: jit.Available(), close: pool.Close,
			make: func(m *mem.Space, env emu.Env, cfg *Config) (emu.Engine, error) {
				return pool.New(m, cfg.engineConfig(env))
			},
		},
		{
			Name: "unicorn", Model: unicorn.DefaultModel, Needs: "Linux on amd64 or arm64, libunicorn 2", Found: found,
			Err: err, Warning: unicorn.Warning(), make: makeUnicorn,
		},
	}
	return append(list, EngineInfo{
		Name: CheckEngine, Model: unicorn.DefaultModel, Needs: "both", Found: "compares unicorn with jit",
		Err: cmp.Or(list[0].Err, list[1].Err), Warning: list[1].Warning, unlisted: true, close: pool.Close,
		make: func(m *mem.Space, env emu.Env, cfg *Config) (emu.Engine, error) {
			return newChecker(m, env, cfg, list[1], list[0])
		},
	})
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

func makeUnicorn(m *mem.Space, env emu.Env, cfg *Config) (emu.Engine, error) {
	return unicorn.New(m, cfg.engineConfig(env))
}

// engineConfig returns what an engine is to know of a run.
func (cfg *Config) engineConfig(env emu.Env) emu.Config {
	return emu.Config{
		Model: cfg.Model, Env: env, RepOnce: cfg.RepOnce,
		Events: cfg.engineEvents(), Caches: cfg.Caches, Branches: cfg.Branches,
	}
}
