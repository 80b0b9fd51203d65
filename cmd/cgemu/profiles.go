package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cgemu/cgemu"
	"github.com/cgemu/cgemu/cgout"
	"github.com/cgemu/cgemu/export"
	"github.com/cgemu/cgemu/syscalls"
)

// A keeper takes the profiles of a run: it writes them to their files, or keeps them to be compared.
type keeper struct {
	o     *options
	paths []string // where the program may be
	log   io.Writer
	// stderr is where messages to standard error go.
	stderr io.Writer
	files  *outFiles
	// writer writes the files, if the run may not.
	writer *writer
	// live shows the counts while the run lasts, nil if it is not shown.
	live *liveRun
	// write and keep say what becomes of a profile.
	write, keep bool
	kept        []kept
	dumps       map[int]int // how many, by process
	// others is how many other processes than the first there were; counted is how many instructions all counted.
	others  int
	counted uint64
	err     error // the first
	ctx     context.Context
}

// A kept is a profile and its file.
type kept struct {
	name    string
	profile *cgout.Profile
}

// run runs the program and takes its profiles.
func (k *keeper) run(ctx context.Context, cfg cgemu.Config) (*cgemu.Result, error) {
	k.ctx, k.dumps = ctx, map[int]int{}
	cfg.OnDump, cfg.OnChild = k.dump, k.finish
	end := k.showProgress(&cfg)
	var res *cgemu.Result
	var err error
	for _, cfg.Path = range k.paths {
		if res, err = cgemu.Run(ctx, cfg); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	end()
	if err == nil {
		k.finish(res)
		// Of go test packages may have no benchmarks.
		if k.counted == 0 && k.write && !k.o.goBenchmarks && !k.o.count.beginsNowhere(res.Unmatched) {
			fmt.Fprintf(k.log, "cgemu: nothing was counted%s\n", k.o.count.cure())
		}
	}
	return res, err
}

// dump takes a profile that the guest asks for while it runs: it lies beside that of the end,
// numbered from 1 on, as Callgrind does.
func (k *keeper) dump(pid int, p *cgout.Profile) {
	k.dumps[pid]++
	n := k.dumps[pid]
	k.counted += p.Totals()[0]
	k.live.add(p)
	if err := k.put(pid, n, p); err != nil && k.err == nil {
		k.err = fmt.Errorf("dump %d: %w", n, err)
	}
}

// finish takes what a process left.
func (k *keeper) finish(res *cgemu.Result) {
	k.live.add(res.Profile)
	// The profile comes first: nobody may read the messages.
	k.err = cmp.Or(k.err, k.put(res.PID, 0, res.Profile))
	if res.PID != syscalls.DefaultPID {
		k.others++
	}
	k.counted += res.Profile.Totals()[0]
	if !k.write {
		return
	}
	k.err = cmp.Or(k.err, k.o.report(k.log, res, k.others > 0))
	if k.others > 0 && res.PID == syscalls.DefaultPID && k.files.isDefault() && !k.o.quiet && k.o.compat == "" {
		fmt.Fprintf(k.log, "==%d== (one of %d processes: cgemu annotate %s shows what all of them counted)\n", res.PID, k.others+1, k.files.all())
	}
}

// put takes the profile of the end of a process, or the dump with number n. Where threads are told apart theirs are
// taken instead, from the last to the first, whose profile ends the run: see part.isLast.
func (k *keeper) put(pid, n int, p *cgout.Profile) error {
	if len(p.Threads) == 0 || k.o.outFormat != "" && k.o.outFormat != "callgrind" {
		return k.putPart(part{pid, n, 0}, p)
	}
	var err error
	for _, of := range slices.Backward(p.Threads) {
		err = cmp.Or(err, k.putPart(part{pid, n, of.Thread}, of))
	}
	return err
}

// putPart takes the profile of a part.
func (k *keeper) putPart(of part, p *cgout.Profile) error {
	name := k.files.of(of)
	if k.keep {
		k.kept = append(k.kept, kept{name, p})
	}
	switch {
	case !k.write:
		return nil
	case k.writer != nil:
		return k.writer.put(k.ctx, of, p, k.o.inFormat(p))
	}
	var insns func(io.Writer) error
	if p.Insns != nil {
		insns = p.Insns.Write
	}
	return k.files.put(of, p.Cmd, p.Totals()[0] == 0, k.stderr, func(name string) error {
		return cgout.WriteFiles(k.ctx, name, k.o.inFormat(p), insns)
	})
}

// formatOut is what profiles are called by --out-format unless the user says otherwise.
var formatOut = map[string]string{
	"callgrind": callgrindOut, "pprof": "cgemu.%p.pb.gz", "folded": "cgemu.%p.folded", "speedscope": "cgemu.%p.speedscope.json",
	"firefox": "cgemu.%p.firefox.json", "perfetto": "cgemu.%p.perfetto.json", "flamegraph": "cgemu.%p.svg", "lcov": "cgemu.%p.info",
}

// inFormat returns what writes a profile as --out-format says.
func (o *options) inFormat(p *cgout.Profile) func(io.Writer) error {
	if o.outFormat == "" {
		return p.WriteFormat
	}
	return func(w io.Writer) error { return export.Write(w, o.outFormat, p, export.Options{}) }
}

// An outFiles names the files that profiles go to.
type outFiles struct {
	format string
	namer  cgout.Namer
	names  map[int]string // by process
	// found are the files with names as profiles have them that were there when the run began, written those that it
	// has written itself.
	found, written map[string]fs.FileInfo
}

// defaultOut is what profiles are called unless the user says otherwise.
const defaultOut = "cachegrind.out.%p"

// newOutFiles checks the value of --cachegrind-out-file.
func newOutFiles(format string) (*outFiles, error) {
	f := &outFiles{format: format, namer: cgout.Namer{Getenv: os.LookupEnv}, names: map[int]string{}}
	name, err := f.namer.Expand(format, syscalls.DefaultPID)
	if err != nil {
		return nil, fmt.Errorf("--cachegrind-out-file: %w", err)
	}
	f.names[syscalls.DefaultPID] = name
	if err := checkPlace(name); err != nil {
		return nil, err
	}
	f.written = map[string]fs.FileInfo{}
	if f.isDefault() {
		f.found = f.find()
	}
	return f, nil
}

// checkPlace says why a profile cannot be written, as far as that is known before the run.
func checkPlace(name string) error {
	dir := filepath.Dir(name)
	switch err := writableDir(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("--cachegrind-out-file: %s: there is no directory %s", name, dir)
	case err != nil && !cgout.IsSpecial(name):
		return fmt.Errorf("the profile %s cannot be written: %s: %w; --cachegrind-out-file=FILE puts it elsewhere", name, dir, err)
	}
	return nil
}

// name returns the file for a process. A name without %p is the first process'; others get their
// number added, unless it is no regular file: all of them write to a pipe.
func (f *outFiles) name(pid int) string {
	if name, ok := f.names[pid]; ok {
		return name
	}
	name, _ := f.namer.Expand(f.format, pid) // it could be expanded before
	if !strings.Contains(strings.ReplaceAll(f.format, "%%", ""), "%p") {
		name = f.beside(name, pid)
	}
	f.names[pid] = name
	return name
}

// A part is what a profile is of: a process, its dump with a number from 1 on or what it counted after the last one,
// and a thread or, as 0, all.
type part struct{ pid, dump, thread int }

// isLast reports whether a part is the last that is written of a run.
func (p part) isLast() bool { return p.pid == syscalls.DefaultPID && p.dump == 0 && p.thread <= 1 }

// of returns the file for a part: callgrind.out.1000.2-01 is of dump 2 of process 1000's first thread.
func (f *outFiles) of(p part) string {
	name := f.name(p.pid)
	if p.dump > 0 {
		name = f.beside(name, p.dump)
	}
	if p.thread > 0 && !cgout.IsSpecial(name) {
		name = fmt.Sprintf("%s-%02d", name, p.thread)
	}
	return name
}

// beside returns a file's name with a number added, or the name of what is no regular file.
func (f *outFiles) beside(name string, n int) string {
	if cgout.IsSpecial(name) {
		return name
	}
	return fmt.Sprintf("%s.%d", name, n)
}
