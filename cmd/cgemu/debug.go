package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"

	"github.com/cgemu/cgemu"
)

// A debugSwitch is a value of --debug.
type debugSwitch struct {
	name, text string
	// set has d write to log.
	set func(d *cgemu.Debug, log io.Writer) error
}

// cpuSwitch is the one that all engines have.
const cpuSwitch = "cpu"

var debugSwitches = []debugSwitch{
	{"blocks", "each block of code that is translated: the guest's instructions, the host's, counters", func(d *cgemu.Debug, log io.Writer) error {
		d.Blocks = log
		return nil
	}},
	{"trace", "each instruction executed, with the registers that it changed (slow)", func(d *cgemu.Debug, log io.Writer) error {
		d.Trace = log
		return nil
	}},
	{"perfmap", perfMap("PID") + ", from which the host's perf learns of the guest's functions", func(d *cgemu.Debug, _ io.Writer) error {
		f, err := createNew(perfMap(fmt.Sprint(os.Getpid())))
		d.PerfMap = f
		return err
	}},
	{"profile", perfMap("PID") + ", from which perf learns what the host's code is for: caches, branches, counters…", func(d *cgemu.Debug, _ io.Writer) error {
		f, err := createNew(perfMap(fmt.Sprint(os.Getpid())))
		d.Profile = f
		return err
	}},
	{cpuSwitch, cpuProfile("PID") + ", for go tool pprof: where cgemu itself takes time", func(_ *cgemu.Debug, _ io.Writer) error {
		f, err := createNew(cpuProfile(fmt.Sprint(os.Getpid())))
		if err != nil {
			return err
		}
		return pprof.StartCPUProfile(f) // main ends it
	}},
}

// cpuProfile is the name of the CPU profile of a process.
func cpuProfile(pid string) string { return "/tmp/cgemu-" + pid + ".pprof" }

// perfMap is the name of the file in which perf looks for names of code that a process generates.
func perfMap(pid string) string { return "/tmp/perf-" + pid + ".map" }

// createNew makes an empty file, in place of one that a process of the same id may have left.
func createNew(name string) (io.Writer, error) {
	if err := os.Remove(name); err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	return os.OpenFile(filepath.FromSlash(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

// debugHelp is what cgemu debug prints.
func debugHelp() string {
	text := "cgemu --debug=LIST shows what the engine does, on stderr or in --log-file. LIST has one or more of:\n"
	for _, s := range debugSwitches {
		text += fmt.Sprintf("  %-8s  %s\n", s.name, s.text)
	}
	return text + "docs/manual.md says what each column is (Instruments).\n"
}

// findDebug returns the switches that --debug names.
func (o *options) findDebug() (list []debugSwitch, err error) {
	for _, name := range o.debug {
		n := len(list)
		for _, s := range debugSwitches {
			if s.name == name {
				list = append(list, s)
			}
		}
		if len(list) == n {
			return nil, fmt.Errorf("--debug=%s: %q is none of those that cgemu debug lists", strings.Join(o.debug, ","), name)
		}
	}
	return list, nil
}

// startDebug has cfg's run tell what --debug asks for.
func (o *options) startDebug(cfg *cgemu.Config, log io.Writer) error {
	list, err := o.findDebug()
	for _, s := range list {
		if err = s.set(&cfg.Debug, log); err != nil {
			return fmt.Errorf("--debug=%s: %w", s.name, err)
		}
	}
	return err
}
