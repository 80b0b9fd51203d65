package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/cgemu/cgemu"
	"github.com/cgemu/cgemu/internal/outfile"
	"github.com/cgemu/cgemu/internal/version"
)

// What a recorded program sees is in the recording, and cannot be changed when the run is repeated. What counts, and
// under which names, changes nothing of that: --replay begins with the options of --record, and takes others.

// countingOptions are those that are recorded, and that --replay takes, too.
var countingOptions = []string{
	"cache-sim", "simulate-cache", "branch-sim", "cache", "I1", "D1", "LL", "L2", "events", "cycles", "dump-instr", "call-graph", "collect-jumps", "inline", "separate-threads", "separate-callers", "separate-callers0", "separate-callers1",
	"separate-callers2", "separate-callers3", "separate-callers4", "separate-callers5", "separate-callers6", "separate-callers7", "separate-callers8", "separate-callers9", "toggle-collect", "from", "to", "instr-at-start", "instr-atstart",
	"collect-atstart", "trace-children", "demangle", "show-below-main", "fullpath-after", "extra-debuginfo-path", "max-insns",
}

// replayOptions are those that --replay takes besides: where output goes, and how the run is made.
var replayOptions = []string{
	"replay", "cachegrind-out-file", "callgrind-out-file", "out-format", "tool", "log-file", "quiet", "verbose", "strace", "progress", "view", "engine", "debug", "verify", "sandbox", "no-cache", "help",
}

// alike are options that say the same: one of them that is given to --replay replaces the other.
var alike = map[string]string{"simulate-cache": "cache-sim", "L2": "LL", "instr-atstart": "instr-at-start"}

func sameOption(name string) string {
	if other, ok := alike[name]; ok {
		return other
	}
	return name
}

// recordable are the options of f that a recording keeps.
func recordable(f *pflag.FlagSet) (list []string) {
	f.Visit(func(x *pflag.Flag) {
		if slices.Contains(countingOptions, x.Name) {
			list = append(list, given(x)...)
		}
	})
	return list
}

// given is an option as it may have been given.
func given(x *pflag.Flag) (list []string) {
	values := []string{x.Value.String()}
	if several, ok := x.Value.(pflag.SliceValue); ok {
		values = several.GetSlice()
	}
	for _, v := range values {
		list = append(list, "--"+x.Name+"="+v)
	}
	return list
}

// openReplay opens the recording that args ask for, and parses them again, behind the options that were recorded. now
// are the options that args have, rest is what stands behind them.
func (o *options) openReplay(args []string, now *pflag.FlagSet, rest []string) (*options, *pflag.FlagSet, error) {
	if o.record != "" {
		return nil, nil, errors.New("--record and --replay: not both; a run that is repeated is recorded already")
	}
	if len(rest) > 0 {
		return nil, nil, fmt.Errorf("--replay: %s: the program and its arguments are in the recording", rest[0])
	}
	var err error
	set := map[string]bool{}
	now.Visit(func(x *pflag.Flag) {
		set[sameOption(x.Name)] = true
		_, foreign := x.Value.(*valgrindFlag)
		if err == nil && !foreign && !slices.Contains(countingOptions, x.Name) && !slices.Contains(replayOptions, x.Name) {
			err = fmt.Errorf("--replay and --%s: not both: what the program sees is in the recording", x.Name)
		}
	})
	if err != nil {
		return nil, nil, err
	}
	recording, err := cgemu.OpenRecording(o.replay)
	if err != nil {
		return nil, nil, fmt.Errorf("--replay: %w", err)
	}
	was := &options{}
	f := was.flags()
	if err := f.Parse(recording.Options()); err != nil || f.NArg() > 0 {
		return nil, nil, fmt.Errorf("--replay: %s: options of another version of cgemu: %q", o.replay, recording.Options())
	}
	var first []string
	f.Visit(func(x *pflag.Flag) {
		if !slices.Contains(countingOptions, x.Name) {
			err = fmt.Errorf("--replay: %s: it has the option --%s, which no recording keeps", o.replay, x.Name) // whoever wrote it there
		}
		if !set[sameOption(x.Name)] {
			first = append(first, given(x)...)
		}
	})
	if err != nil {
		return nil, nil, err
	}
	out := &options{}
	f = out.flags()
	if err := f.Parse(append(first, args...)); err != nil {
		return nil, nil, err
	}
	out.recording, out.overlay, out.stdio = recording, true, "pipe"
	return out, f, nil
}

// checkRecord refuses options with which nothing can be recorded.
func (o *options) checkRecord() error {
	if o.record == "" {
		return nil
	}
	for _, c := range []struct {
		not        bool
		other, why string
	}{
		{o.time == "real", "time=real", "the host's time is not recorded"},
		{o.stdio == "host", "stdio=host", "what a terminal says is not recorded"},
		{o.compat != "", "compat=valgrind", "it shows the program the host's auxiliary vector"},
		{o.sysroot != "", "sysroot", "--root can be recorded"},
		{len(o.binds) > 0, "bind", "--root and --isolate can be recorded"},
		{o.verify, "verify", "record, and then --verify --replay=" + o.record},
		{o.goBenchmarks, "go-benchmarks", "record the test binary itself"},
	} {
		if c.not {
			return fmt.Errorf("--record and --%s: not both: %s", c.other, c.why)
		}
	}
	return nil
}

// startRecord has cfg recorded, if o asks for that.
func (o *options) startRecord(cfg *cgemu.Config, log io.Writer) error {
	if o.recording != nil && o.recording.Rules() != cgemu.CountingRules {
		fmt.Fprintf(log, "cgemu: --replay: %s was recorded by cgemu %s, which counts by other rules\n", o.replay, o.recording.Version())
	}
	if o.record == "" {
		return nil
	}
	if outfile.IsSpecial(o.record) {
		return fmt.Errorf("--record: %s: a regular file is expected", o.record)
	}
	f, err := os.OpenFile(o.record, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("--record: %w", err)
	}
	cfg.Record = &cgemu.Recorder{File: f, Version: version.Number(), Options: o.kept}
	if term.IsTerminal(int(os.Stdin.Fd())) {
		fmt.Fprintln(log, "cgemu: --record: what is typed is not recorded; the program gets an empty standard input")
		cfg.Stdin = nil
	}
	return nil
}

// program is the name of what is run.
func (o *options) program(rest []string) string {
	if o.recording != nil {
		return o.recording.Config().Args[0]
	}
	return rest[0]
}
