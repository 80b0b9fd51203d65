package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/cgemu/cgemu"
	"github.com/cgemu/cgemu/cgout"
	"github.com/cgemu/cgemu/syscalls"
)

// A countOptions holds the options that say what counts, and which events.
type countOptions struct {
	instrAtStart   yesNo
	collectAtStart yesNo
	regions        cgemu.Regions
	events         []string
	cycles         yesNo
	dumpInstr      yesNo
}

// register adds the options to f.
func (c *countOptions) register(f *pflag.FlagSet) {
	c.instrAtStart, c.collectAtStart = true, true
	f.Var(&c.instrAtStart, "instr-at-start", "")
	f.Var(&c.collectAtStart, "collect-atstart", "")
	f.Var(&c.cycles, "cycles", "")
	f.Var(&c.dumpInstr, "dump-instr", "")
	for _, name := range []string{"instr-at-start", "collect-atstart", "cycles", "dump-instr"} {
		f.Lookup(name).NoOptDefVal = "yes"
	}
	f.StringArrayVar(&c.regions.Toggle, "toggle-collect", nil, "")
	f.StringArrayVar(&c.regions.From, "from", nil, "")
	f.StringArrayVar(&c.regions.To, "to", nil, "")
	f.StringSliceVar(&c.events, "events", nil, "")
}

// check refuses what does not go together.
func (c *countOptions) check(cacheSim bool) error {
	for _, name := range c.events {
		if !slices.Contains(cgemu.EventGroups(), name) {
			return fmt.Errorf("--events=%s: %q is not one of %s", strings.Join(c.events, ","), name,
				strings.Join(cgemu.EventGroups(), ", "))
		}
	}
	for _, o := range []struct {
		name     string
		patterns []string
	}{{"toggle-collect", c.regions.Toggle}, {"from", c.regions.From}, {"to", c.regions.To}} {
		if slices.Contains(o.patterns, "") {
			return fmt.Errorf("--%s=: no function", o.name)
		}
	}
	if bool(c.cycles) && !cacheSim {
		return errors.New("--cycles: needs --cache-sim=yes: the estimate is made of cache misses")
	}
	return nil
}

// apply puts the options into cfg.
func (c *countOptions) apply(cfg *cgemu.Config) {
	cfg.Regions = c.regions
	cfg.Regions.NotInstr, cfg.Regions.NotCollecting = !bool(c.instrAtStart), !bool(c.collectAtStart)
	cfg.Events, cfg.Cycles = c.events, bool(c.cycles)
	cfg.DumpInstr = bool(c.dumpInstr)
}

// A dumps writes the profiles that the guest asks for while it runs: beside the profile of
// the end, numbered from 1 on, as Callgrind does.
type dumps struct {
	files *outFiles
	n     map[int]int // by process
	err   error       // the first that could not be written
}

func (d *dumps) write(pid int, p *cgout.Profile) {
	d.n[pid]++
	if err := p.WriteFile(fmt.Sprintf("%s.%d", d.files.name(pid), d.n[pid])); err != nil && d.err == nil {
		d.err = fmt.Errorf("dump %d: %w", d.n[pid], err)
	}
}

// An outFiles names the files that profiles go to.
type outFiles struct {
	format string
	namer  cgout.Namer
	names  map[int]string // by process
}

// newOutFiles checks the value of --cachegrind-out-file.
func newOutFiles(format string) (*outFiles, error) {
	f := &outFiles{format: format, namer: cgout.Namer{Getenv: os.LookupEnv}, names: map[int]string{}}
	name, err := f.namer.Expand(format, syscalls.DefaultPID)
	if err != nil {
		return nil, fmt.Errorf("--cachegrind-out-file: %w", err)
	}
	f.names[syscalls.DefaultPID] = name
	return f, nil
}

// name returns the file for a process. A name without %p is the first process'; others get their
// number added, unless it is no regular file: all of them write to a pipe.
func (f *outFiles) name(pid int) string {
	if name, ok := f.names[pid]; ok {
		return name
	}
	name, _ := f.namer.Expand(f.format, pid) // it could be expanded before
	if !strings.Contains(strings.ReplaceAll(f.format, "%%", ""), "%p") {
		if info, err := os.Stat(name); err != nil || info.Mode().IsRegular() {
			name = fmt.Sprintf("%s.%d", name, pid)
		}
	}
	f.names[pid] = name
	return name
}
