package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/cgemu/cgemu"
	"github.com/cgemu/cgemu/annotate"
	"github.com/cgemu/cgemu/cgout"
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/internal/outfile"
	"github.com/cgemu/cgemu/internal/spell"
	"github.com/cgemu/cgemu/loader"
	"github.com/cgemu/cgemu/syscalls"
)

// run runs a guest program and writes its profile.
func run(args []string) int {
	o, rest, err := parseOptions(args)
	if errors.Is(err, pflag.ErrHelp) {
		return write(runCommand().Help("cgemu"))
	}
	if err != nil {
		return fail(exitFailed, err)
	}
	if len(rest) == 0 && o.recording == nil && o.image == "" {
		os.Stderr.WriteString(shortHelp())
		return exitFailed
	}
	if err := checkHost(); err != nil {
		return fail(exitFailed, err)
	}
	defer o.closeImage()
	if len(rest) == 0 && o.image != "" {
		if rest, err = o.imageCommand(); err != nil {
			return fail(exitFailed, err)
		}
	}
	if len(rest) > 0 {
		rest[0] = filepath.ToSlash(rest[0])
	}
	cfg, err := o.config(rest)
	if err != nil {
		return fail(exitFailed, err)
	}
	paths := []string{cfg.Path}
	if o.recording == nil {
		paths, err = o.find(rest[0], cfg.Env)
	}
	if err != nil {
		return o.failStart(rest[0], err)
	}

	ctx := untilSignal()
	terminal := newMessages(ctx, os.Stderr)
	stderr = terminal
	logTo, err := o.startLog(ctx, &cfg, terminal)
	if err != nil {
		return fail(exitFailed, err)
	}
	files, err := o.outFiles(cfg.DumpInstr)
	if err != nil {
		return fail(exitFailed, err)
	}
	if o.view != "" && o.walled() {
		return fail(exitFailed, errors.New("--view: not with "+wallOptions+", whose walls keep the page's server from its work: cgemu view shows the profile"))
	}
	if err := o.fetchDebug(&cfg, logTo); err != nil {
		return fail(exitFailed, err)
	}
	k := &keeper{o: o, log: logTo, stderr: terminal, paths: paths, files: files, write: true}
	shm, lower, err := o.confine(k)
	if err != nil {
		return fail(exitFailed, err)
	}
	defer lower()
	cfg.ShmDir = shm
	if o.verify {
		return k.verify(ctx, cfg)
	}
	var res *cgemu.Result
	if o.view != "" {
		res, ctx, err = o.runViewed(ctx, k, cfg)
	} else {
		res, err = k.runFiltered(ctx, cfg)
	}
	if o.record != "" && (err != nil || res.Exit.Interrupted) {
		os.Remove(o.record) // where the host lets us
	}
	if err != nil {
		return o.failStart(o.program(rest), err)
	}
	if k.err != nil {
		return fail(exitFailed, k.err)
	}
	return status(ctx, res)
}

// outFiles says where profiles go. dumps says that counts of instructions are to lie beside them.
func (o *options) outFiles(dumps bool) (*outFiles, error) {
	files, err := newOutFiles(o.outFile)
	if err != nil {
		return nil, err
	}
	if name := files.name(syscalls.DefaultPID); dumps && cgout.IsSpecial(name) {
		return nil, fmt.Errorf("--dump-instr: its file would lie beside %s, which is no file with a name", name)
	}
	return files, nil
}

// startLog opens what is written beside profiles: messages, which go to the terminal unless an option says where, and
// the files of --debug and --record.
func (o *options) startLog(ctx context.Context, cfg *cgemu.Config, terminal io.Writer) (io.Writer, error) {
	logTo := terminal
	if o.logFile != "" {
		f, err := outfile.Create(o.logFile)
		if err != nil {
			return nil, err
		}
		logTo = newMessages(ctx, f)
	}
	cfg.Log = logTo
	if o.verbose && bool(o.cacheSim) {
		o.showCaches(logTo)
	}
	if !o.quiet {
		o.tellWarnings(logTo)
	}
	if o.strace {
		cfg.Strace = logTo
	}
	if err := o.startDebug(cfg, logTo); err != nil {
		return nil, err
	}
	return logTo, o.startRecord(cfg, logTo)
}

// tellWarnings says what a run does otherwise than its options may let expect.
func (o *options) tellWarnings(w io.Writer) {
	o.valgrind.tell(w)
	if o.cacheWarning != "" && bool(o.cacheSim) {
		fmt.Fprintf(w, "cgemu: %s\n", o.cacheWarning)
	}
	if o.idleCaches != "" {
		fmt.Fprintf(w, "cgemu: %s: no caches are simulated without --cache-sim=yes\n", o.idleCaches)
	}
	if o.separates && o.verbose {
		fmt.Fprintf(w, "cgemu: --separate-callers: the engine is %s, which alone tells functions apart by their callers; without it, it is the first that cgemu doctor lists\n", o.engine)
	}
	if o.engineWarning != "" {
		fmt.Fprintf(w, "cgemu: %s\n", o.engineWarning)
	}
}

// find returns where a program may be, searching PATH for a bare name: the guest's in a root of its own.
func (o *options) find(name string, env []string) ([]string, error) {
	switch ownRoot := o.root != "" || o.image != ""; {
	case ownRoot && strings.Contains(name, "/"):
		return []string{name}, nil
	case ownRoot:
		return inPath(name, env), nil
	case syscalls.HasOwnRoot && !hasSeparator(name):
		return inPath(name, env), nil
	case syscalls.HasOwnRoot && !filepath.IsLocal(name):
		abs, err := filepath.Abs(name)
		if err == nil {
			_, err = os.Stat(abs)
		}
		return []string{abs}, err
	case hasSeparator(name):
		info, err := os.Stat(name)
		if err == nil && info.IsDir() && o.sysroot == "" {
			err = errDirectory
		}
		return []string{name}, err
	}
	p, err := exec.LookPath(name)
	if errors.Is(err, exec.ErrNotFound) {
		err = notInPath(name, err)
	}
	if err == nil {
		p, err = filepath.Abs(p)
	}
	return []string{p}, err
}

// hasSeparator reports whether a name is a path of the host's.
func hasSeparator(name string) bool { return strings.ContainsAny(name, "/"+string(filepath.Separator)) }

// errDirectory is the error for a directory in place of a program.
var errDirectory = errors.New("it is a directory: a program is expected")

// A hereError is that PATH leads to no such program, but the working directory has the file.
type hereError struct {
	error
	dir bool
}

func (e hereError) Unwrap() error { return e.error }

// notInPath returns the error for a name that PATH leads nowhere for.
func notInPath(name string, err error) error {
	if info, missing := os.Stat(name); missing == nil {
		return hereError{err, info.IsDir()}
	}
	return err
}

// inPath returns where env's PATH leads for name.
func inPath(name string, env []string) []string {
	path := "/bin:/usr/bin" // as execvp(3) has it
	for _, e := range env {
		if value, ok := strings.CutPrefix(e, "PATH="); ok {
			path = value
		}
	}
	paths := strings.Split(path, ":")
	for i, dir := range paths {
		paths[i] = dir + "/" + name
	}
	return paths
}

// failStart reports that a program could not be started.
func (o *options) failStart(name string, err error) int { return fail(o.startFailure(name, err)) }

// startFailure returns the exit status for a program that could not be started, and what is to be said.
func (o *options) startFailure(name string, err error) (int, error) {
	var here hereError
	var bad *loader.Error
	switch {
	case errors.Is(err, cgemu.ErrNotRecorded):
		return exitFailed, err
	case hostErrno(err) == syscall.EMFILE || hostErrno(err) == syscall.ENFILE || hostErrno(err) == syscall.EFBIG:
		return exitFailed, err // whatever the program is
	case name == "":
		return exitNotFound, errors.New("the program's name is empty")
	case errors.Is(err, fs.ErrNotExist) && checkDirectory() != nil:
		return exitFailed, checkDirectory()
	case errors.Is(err, errDirectory):
		return exitNotExec, fmt.Errorf("%s: %w", name, err)
	case errors.As(err, &here) && here.dir:
		return exitNotFound, fmt.Errorf("%s: not found in PATH; ./%[1]s is a directory", name)
	case errors.As(err, &here):
		return exitNotFound, fmt.Errorf(`%s: not found in PATH; did you mean "./%[1]s"?`, name)
	case errors.Is(err, fs.ErrNotExist) && errors.As(err, &bad) && bad.Interp != "":
		return exitNotFound, fmt.Errorf("%s: %s%s", name, bad.Msg, cure(bad))
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, exec.ErrNotFound):
		return exitNotFound, fmt.Errorf("%s: not found%s", name, o.notFoundHint(name))
	case errors.Is(err, fs.ErrPermission):
		return exitNotExec, fmt.Errorf("%s: permission denied", name)
	}
	var noPath *fs.PathError
	if errors.As(err, &bad) || errors.As(err, &noPath) {
		return exitNotExec, err
	}
	return exitFailed, err // the host's fault or ours
}

// notFoundHint is what is said behind a program's name that leads nowhere.
func (o *options) notFoundHint(name string) string {
	if o.volume == name {
		dir, at, _ := strings.Cut(name, ":")
		return fmt.Sprintf("; to show the directory %s, its PATH has to begin with a slash: -v %[1]s:/%s", dir, at)
	}
	if hint := spell.Suggest(name, commands); hint != "" {
		return hint
	}
	switch top := cmp.Or(o.image, o.root); {
	case top != "":
		return " in " + top + hereHint(name)
	case syscalls.HasOwnRoot && !hasSeparator(name):
		return " (this host is not Linux, and has no programs for it: give a path, ./prog, or --image=FILE)"
	}
	return ""
}

// hereHint says how a program found from the working directory on comes to be in an image or in a root; "" if the host
// has no such file either.
func hereHint(name string) string {
	if info, err := os.Stat(name); err != nil || info.IsDir() || filepath.IsAbs(name) {
		return ""
	}
	dir, as := ".", name
	switch {
	case !filepath.IsLocal(name):
		dir, as = filepath.Dir(name), "/work/"+filepath.Base(name)
	case !hasSeparator(name):
		as = "./" + name
	}
	return fmt.Sprintf("; the program sees no other files, unless you show it some: -v %s:/work %s", filepath.ToSlash(dir), filepath.ToSlash(as))
}

// report prints the summary of a process; named says that there are several, so that it has to name the command.
func (o *options) report(w io.Writer, res *cgemu.Result, named bool) error {
	prefix := fmt.Sprintf("==%d== ", res.PID)
	for _, warn := range res.Warnings {
		if o.verbose {
			fmt.Fprintf(w, "%swarning: %v\n", prefix, warn)
		}
	}
	if o.verbose && len(res.Unsupported) > 0 {
		fmt.Fprintf(w, "%ssystem calls that cgemu lacks or refuses, and what they returned:\n", prefix)
		for _, l := range res.Unsupported {
			fmt.Fprintf(w, "%s  %s (%d): %d × %s\n", prefix, l.Name, l.Number, l.Calls, l.Answer)
		}
	}
	if x := res.Exit; x.Interrupted {
		fmt.Fprintf(w, "%sinterrupted; the profile holds what was executed up to there\n", prefix)
	}
	if res.Exit.Abandoned && !o.quiet {
		fmt.Fprintf(w, "%sthe run ended while it waited; the profile holds what it executed\n", prefix)
	}
	if res.Exit.Limit && !o.quiet {
		fmt.Fprintf(w, "%sended by --max-insns\n", prefix)
	}
	if x := res.Exit; x.Signal != 0 && !x.Interrupted && !x.Limit && !x.Deadlock && !x.Abandoned && !o.quiet {
		fmt.Fprintf(w, "%skilled by %s\n", prefix, x)
	}
	if !o.quiet {
		head := strings.TrimRight(prefix, " ")
		if named {
			head = prefix + shorten(res.Profile.Cmd)
		}
		fmt.Fprintln(w, head)
		if err := res.Profile.WriteTotals(w, prefix); err != nil {
			return err
		}
		if o.stdio == "auto" && interactive() && res.PID == syscalls.DefaultPID {
			fmt.Fprintf(w, "%s(with a terminal, to which programs write in other ways; --stdio=pipe counts as where there is none)\n", prefix)
		}
	}
	return nil
}

// shorten is a command as far as it fits into a line, without what terminals take for more than text.
func shorten(command string) string {
	const most = 100
	text := []rune(annotate.Visible(command))
	if len(text) > most {
		return string(text[:most-1]) + "…"
	}
	return string(text)
}

// exitLimit is the status of a run that --max-insns ended, as timeout(1) has it.
const exitLimit = 124

// status is cgemu's exit status for how the guest ended.
func status(ctx context.Context, res *cgemu.Result) int {
	var by endSignal
	switch x := res.Exit; {
	case x.Limit:
		return exitLimit
	case x.Interrupted && errors.As(context.Cause(ctx), &by):
		return by.status()
	default:
		return x.Status()
	}
}

// interactive reports whether somebody may be typing and reading: the program is to have the terminal then.
func interactive() bool {
	return term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stdout.Fd()))
}

// config makes the run's configuration of the options and the command line behind them.
func (o *options) config(args []string) (cgemu.Config, error) {
	if _, err := emu.ModelByName(o.cpu); err != nil {
		return cgemu.Config{}, err
	}
	if err := o.openImage(); err != nil {
		return cgemu.Config{}, err
	}
	var cfg cgemu.Config
	if o.recording != nil {
		cfg = o.recording.Config()
	} else {
		cfg = o.world(args)
	}
	cfg.Stdin, cfg.Stdout, cfg.Stderr = os.Stdin, os.Stdout, os.Stderr
	if o.recording == nil {
		if err := o.passNamed(&cfg, args); err != nil {
			return cgemu.Config{}, err
		}
	}
	cfg.Engine, cfg.MaxInsns, cfg.Names, cfg.Branches, cfg.TraceChildren = o.engine, o.maxInsns, o.names(), bool(o.branches), bool(o.children)
	if o.network == "host" && cfg.Start.IsZero() {
		cfg.Start = time.Now() // certificates are valid today
	}
	if o.cacheSim {
		cfg.Caches = &o.caches
	}
	o.count.apply(&cfg)
	return cfg, nil
}

// passNamed gives the guest the descriptors that args name.
func (o *options) passNamed(cfg *cgemu.Config, args []string) error {
	for _, n := range namedDescriptors(args) {
		name := fmt.Sprintf("/dev/fd/%d", n)
		if o.walled() || o.record != "" {
			return fmt.Errorf("%s: not with --verify, --record, --overlay, --read-only or --root, whose programs get standard input, output and error alone: use a file", name)
		}
		if cfg.Files == nil {
			cfg.Files = map[int]*os.File{}
		}
		cfg.Files[n] = os.NewFile(uintptr(n), name)
	}
	return nil
}

// codeDir is where translated code and names are kept; "" for nowhere. A guest with walls around it has nothing to do
// with other runs' code.
func (o *options) codeDir() string {
	if o.noCache || o.walled() {
		return ""
	}
	return cgemu.DefaultCodeDir()
}

// world is what the guest sees.
func (o *options) world(args []string) cgemu.Config {
	cfg := cgemu.Config{
		Args: args, Env: o.environment(), Sysroot: o.sysroot, CPU: o.cpu, CPUs: o.cpus,
		Network: o.network, Compat: o.compat == "valgrind", Seed: o.seed, SchedSeed: o.seedSched, RealTime: o.time == "real", Start: o.date.Time,
		RepOnce: o.rep == "once", HostEtc: o.etc == "host",
		CodeDir:   o.codeDir(),
		Reclaim:   runtime.GC,
		HostStdio: o.stdio == "host" || o.stdio == "auto" && interactive(),
	}
	if firstWall {
		cfg.Root, cfg.Overlay, cfg.Isolate, cfg.ReadOnly, cfg.Binds = o.root, o.overlay, o.isolate, o.readOnly, o.bound()
		cfg.Image = o.opened
	}
	return cfg
}
