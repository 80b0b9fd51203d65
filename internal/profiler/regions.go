package profiler

import (
	"fmt"

	"github.com/cgemu/cgemu/internal/funcwatch"
)

// Regions says which parts of a run count, apart from what the program itself asks for by client
// requests. Functions are patterns, in which `*` stands for any text and `?` for any character. They are
// compared with symbols, with names as in the source, and with those without their parameters.
type Regions struct {
	// NotInstr begins without counting and without simulation, up to a request to start.
	NotInstr bool
	// NotCollecting begins with simulation and without counting, up to a request to toggle.
	NotCollecting bool
	// Toggle are functions in which collection is the other way round, for the thread that is in
	// them, and in what they call; in functions of these called by others of these as it was.
	Toggle []string
	// From are functions the first entry of which starts counting and simulation, which are off
	// until then.
	From []string
	// To are functions the first entry of which, while counting and simulation are on, ends both.
	To []string
}

// regionProbes returns what p watches for its regions.
func (p *Profiler) regionProbes() (probes []*funcwatch.Probe) {
	add := func(option string, patterns []string, entered func(*funcwatch.Probe, funcwatch.Entry)) {
		for _, pattern := range patterns {
			probes = append(probes, &funcwatch.Probe{
				Option:  fmt.Sprintf("--%s=%s", option, pattern),
				Match:   func(f *funcwatch.Function) bool { return f.Matches(pattern) },
				Entered: entered,
			})
		}
	}
	r := &p.cfg.Regions
	add("toggle-collect", r.Toggle, func(_ *funcwatch.Probe, e funcwatch.Entry) { e.Push(funcwatch.Toggles) })
	started := false
	add("from", r.From, func(probe *funcwatch.Probe, _ funcwatch.Entry) {
		if probe.Done = true; !started {
			started, p.instr = true, true
		}
	})
	ended := false
	add("to", r.To, func(probe *funcwatch.Probe, _ funcwatch.Entry) {
		if ended {
			probe.Done = true
		} else if p.instr {
			probe.Done, ended, p.instr = true, true, false
		}
	})
	return probes
}
