package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/cgemu/cgemu"
	"github.com/cgemu/cgemu/annotate/serve"
	"github.com/cgemu/cgemu/cachesim"
	"github.com/cgemu/cgemu/dwarfmap"
	"github.com/cgemu/cgemu/export"
	"github.com/cgemu/cgemu/internal/spell"
)

// An options holds the command line of run.
type options struct {
	outFile, logFile  string
	outFormat         string // "": the profile's own
	engine            string
	cpu, compat       string
	cpus              int
	env               []string
	inheritEnv        bool
	sysroot, root     string
	image             string
	noCache           bool
	opened            *cgemu.Image // of image
	readOnly, overlay bool
	isolate           string
	binds             []string
	volume            string // the program, if it stands behind -v and may have been meant to be the value of that
	sandbox           bool
	// view is where the run is shown while it lasts, HOST:PORT; "": nowhere.
	view               string
	seed, maxInsns     uint64
	seedSched          uint64
	date               dateFlag
	time, rep          string
	stdio, etc         string
	network            string
	noNetwork          bool
	strace, verify     bool
	record, replay     string
	recording          *cgemu.Recording // of replay
	kept               []string         // what record keeps of the options
	goBenchmarks       bool
	valgrind           fromValgrind
	debug              []string
	children           yesNo
	progress           yesNo
	demangle           yesNo
	belowMain          yesNo
	cacheSim, branches yesNo
	cache, i1, d1, ll  string
	caches             cachesim.Config // of those four
	count              countOptions
	cacheWarning       string
	idleCaches         string // options that choose caches, of a run that simulates none
	engineWarning      string
	separates          bool // the engine was chosen since it tells functions apart by their callers
	fullpathAfter      []string
	extraDebug         []string
	debuginfod         string
	quiet, verbose     bool
}

// A dateFlag is a flag that takes a date, a date and time, or the word now.
type dateFlag struct{ time.Time }

func (d *dateFlag) String() string { return "" }

func (d *dateFlag) Type() string { return "DATE|now" }

func (d *dateFlag) Set(s string) (err error) {
	if s == "now" {
		d.Time = time.Now()
		return nil
	}
	for _, layout := range []string{time.DateOnly, "2006-01-02T15:04:05"} {
		if d.Time, err = time.Parse(layout, s); err == nil && d.Year() >= 1970 {
			return nil
		}
	}
	return errors.New("a date like 2026-12-31 or 2026-12-31T23:59:59, from 1970 on, or now is expected")
}

// A yesNo is a flag that takes Valgrind's yes and no.
type yesNo bool

func (y *yesNo) String() string {
	if *y {
		return "yes"
	}
	return "no"
}

func (y *yesNo) Type() string { return "yes|no" }

func (y *yesNo) Set(s string) error {
	switch s {
	case "yes":
		*y = true
	case "no":
		*y = false
	default:
		return errors.New("yes or no expected")
	}
	return nil
}

// flags returns the options, to be parsed into o. What they mean is in runCommand.
func (o *options) flags() *pflag.FlagSet {
	o.demangle, o.children, o.progress = true, true, true
	f := pflag.NewFlagSet("cgemu", pflag.ContinueOnError)
	f.SetInterspersed(false)
	f.SetOutput(io.Discard)
	f.Usage = func() {}
	f.StringVar(&o.outFile, "cachegrind-out-file", defaultOut, "")
	f.StringVar(&o.outFormat, "out-format", "", "")
	f.StringVar(&o.logFile, "log-file", "", "")
	f.StringVar(&o.engine, "engine", cgemu.AutoEngine, "")
	f.StringVar(&o.cpu, "cpu", "", "")
	f.IntVar(&o.cpus, "cpus", 1, "")
	f.StringVar(&o.compat, "compat", "", "")
	f.StringArrayVarP(&o.env, "env", "e", nil, "")
	f.BoolVar(&o.inheritEnv, "inherit-env", false, "")
	f.StringVar(&o.sysroot, "sysroot", "", "")
	f.StringVar(&o.network, "network", "loopback", "")
	f.BoolVar(&o.noNetwork, "no-network", false, "")
	f.StringVar(&o.root, "root", "", "")
	f.StringVar(&o.image, "image", "", "")
	f.BoolVar(&o.noCache, "no-cache", false, "")
	f.BoolVar(&o.readOnly, "read-only", false, "")
	f.StringArrayVar(&o.binds, "bind", nil, "")
	f.BoolVar(&o.overlay, "overlay", false, "")
	f.StringVar(&o.isolate, "isolate", "", "")
	f.Lookup("isolate").NoOptDefVal = "."
	f.StringVar(&o.view, "view", "", "")
	f.Lookup("view").NoOptDefVal = serve.DefaultAddress
	f.BoolVar(&o.sandbox, "sandbox", false, "")
	f.Uint64Var(&o.seed, "seed", 0, "")
	f.Uint64Var(&o.seedSched, "seed-sched", 0, "")
	f.Uint64Var(&o.maxInsns, "max-insns", 0, "")
	f.StringVar(&o.time, "time", "virtual", "")
	f.StringVar(&o.rep, "rep", "each", "")
	f.Var(&o.date, "date", "")
	f.StringVar(&o.stdio, "stdio", "auto", "")
	f.StringVar(&o.etc, "etc", "fixed", "")
	f.BoolVar(&o.strace, "strace", false, "")
	f.BoolVar(&o.verify, "verify", false, "")
	f.StringVar(&o.record, "record", "", "")
	f.StringVar(&o.replay, "replay", "", "")
	f.BoolVar(&o.goBenchmarks, "go-benchmarks", false, "")
	f.StringSliceVar(&o.debug, "debug", nil, "")
	for name, v := range map[string]*yesNo{
		"demangle": &o.demangle, "show-below-main": &o.belowMain, "cache-sim": &o.cacheSim, "branch-sim": &o.branches,
		"trace-children": &o.children, "progress": &o.progress,
	} {
		f.Var(v, name, "")
		f.Lookup(name).NoOptDefVal = "yes"
	}
	f.StringVar(&o.cache, "cache", "default", "")
	f.StringVar(&o.i1, "I1", "", "")
	f.StringVar(&o.d1, "D1", "", "")
	f.StringVar(&o.ll, "LL", "", "")
	f.StringVar(&o.ll, "L2", "", "")
	o.count.register(f)
	o.valgrind.register(f, &o.outFile)
	f.StringArrayVar(&o.fullpathAfter, "fullpath-after", nil, "")
	f.StringArrayVar(&o.extraDebug, "extra-debuginfo-path", nil, "")
	f.StringVar(&o.debuginfod, "debuginfod", "no", "")
	f.Lookup("debuginfod").NoOptDefVal = "yes"
	f.BoolVarP(&o.quiet, "quiet", "q", false, "")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "")
	return f
}

// parseOptions parses the options in front of the program; rest is the program and its arguments. What is more adds
// those that another command has besides.
func parseOptions(args []string, more ...func(*pflag.FlagSet)) (o *options, rest []string, err error) {
	o = &options{}
	f := o.flags()
	for _, register := range more {
		register(f)
	}
	args = volumes(f, args)
	if err := f.Parse(args); err != nil {
		err = suggestFlag(f, err)
		return nil, nil, err
	}
	rest = f.Args()
	if err := refuseEmpty(f); err != nil {
		return nil, nil, err
	}
	if err := refuseLooseValue(f, args, rest); err != nil {
		return nil, nil, err
	}
	o.volume = looseVolume(args, rest)
	if o.replay != "" {
		if o, f, err = o.openReplay(args, f, rest); err != nil {
			return nil, nil, err
		}
	}
	o.idleCaches = o.withoutCaches(f)
	if o.kept = recordable(f); o.record != "" && o.stdio == "auto" {
		o.stdio = "pipe"
	}
	if err := o.count.impliesCallGraph(f); err != nil {
		return nil, nil, err
	}
	if (o.valgrind.callgrind || o.outFormat != "" && o.outFormat != "lcov") && !f.Changed("call-graph") {
		o.count.callGraph = true
	}
	switch {
	case f.Changed("cachegrind-out-file"), f.Changed("callgrind-out-file"):
	case formatOut[o.outFormat] != "":
		o.outFile = formatOut[o.outFormat]
	case o.valgrind.callgrind, bool(o.count.callGraph):
		o.outFile = callgrindOut
	}
	if err := o.checkImage(f); err != nil {
		return nil, nil, err
	}
	o.overlay = o.overlay || o.image != "" && !o.readOnly
	if o.sandbox && !f.Changed("read-only") {
		o.readOnly = !o.overlay
	}
	if o.isolate != "" {
		o.overlay = true
		if o.stdio == "auto" {
			o.stdio = "pipe"
		}
	}
	if o.verify && !o.readOnly && o.sysroot == "" && !f.Changed("overlay") {
		o.overlay = true // both runs begin with the same files
	}
	return o, rest, o.check()
}

// refuseEmpty refuses options that name a file or a directory, and do not, as where a variable is not set: the program
// would run without what they ask for, its confinement above all.
func refuseEmpty(f *pflag.FlagSet) error {
	for _, name := range []string{"root", "image", "sysroot", "isolate", "record", "replay", "log-file", "debuginfod"} {
		if o := f.Lookup(name); o != nil && o.Changed && o.Value.String() == "" {
			return fmt.Errorf("--%s=: nothing is behind it; is a variable not set?", name)
		}
	}
	return nil
}

// check refuses values no option has.
func (o *options) check() error {
	if o.noNetwork {
		o.network = "none"
	}
	for _, c := range []struct {
		name, value string
		allowed     []string
	}{
		{"compat", o.compat, []string{"", "valgrind"}},
		{"out-format", o.outFormat, append([]string{""}, export.Formats...)},
		{"time", o.time, []string{"virtual", "real"}},
		{"rep", o.rep, []string{"each", "once"}},
		{"stdio", o.stdio, []string{"auto", "pipe", "host"}},
		{"etc", o.etc, []string{"fixed", "host"}},
		{"network", o.network, []string{"host", "loopback", "none"}},
	} {
		if !slices.Contains(c.allowed, c.value) {
			return fmt.Errorf("--%s=%s: not one of %s", c.name, c.value, strings.TrimPrefix(strings.Join(c.allowed, ", "), ", "))
		}
	}
	for _, e := range o.env {
		if e == "" || e[0] == '=' {
			return fmt.Errorf("-e %q: NAME or NAME=VALUE is expected", e)
		}
	}
	for _, b := range o.binds {
		if !bindValue().MatchString(b[len(filepath.VolumeName(b)):]) {
			return fmt.Errorf("--bind=%s: DIR, DIR:PATH or DIR:PATH:ro is expected", b)
		}
	}
	if o.verify && o.goBenchmarks {
		return errors.New("--verify and --go-benchmarks: not both; run twice, and compare the results")
	}
	for _, c := range []struct {
		not   bool
		other string
	}{
		{o.network == "host", "network=host"}, {o.time == "real", "time=real"}, {o.inheritEnv, "inherit-env"}, {o.stdio == "host", "stdio=host"},
		{o.etc == "host", "etc=host"}, {o.sysroot != "", "sysroot"}, {o.compat != "", "compat=valgrind"},
	} {
		if o.isolate != "" && c.not {
			return fmt.Errorf("--isolate and --%s: not both: what the guest sees would depend on the machine", c.other)
		}
	}
	if err := o.checkRecord(); err != nil {
		return err
	}
	if o.root != "" && o.sysroot != "" {
		return errors.New("--root and --sysroot: not both")
	}
	if (o.overlay || len(o.binds) > 0) && o.sysroot != "" {
		return errors.New("--sysroot: not with --overlay or --bind")
	}
	if o.overlay && o.readOnly {
		return errors.New("--overlay and --read-only: not both")
	}
	if o.view != "" && o.verify {
		return errors.New("--view and --verify: not both")
	}
	if o.sandbox && o.network == "host" {
		return errors.New("--sandbox and --network=host: not both")
	}
	if o.sandbox && !o.readOnly && !o.overlay && o.root == "" {
		return errors.New("--sandbox with --read-only=false: it needs a --root, which the guest may change")
	}
	if o.cpus < 1 || o.cpus > 1024 {
		return fmt.Errorf("--cpus=%d: 1 to 1024 expected", o.cpus)
	}
	if err := o.findEngine(); err != nil {
		return err
	}
	if err := o.count.check(bool(o.cacheSim)); err != nil {
		return err
	}
	return o.findCaches()
}

// separatingEngine is the engine that tells functions apart by their callers.
const separatingEngine = "interp"

// walled reports whether something keeps the guest from files of the host. A --bind alone hides and keeps nothing.
// The options that ask for that are wallOptions.
func (o *options) walled() bool { return o.root != "" || o.readOnly || o.overlay }

// wallOptions are the options with which a run is walled, as messages and the manual name them.
const wallOptions = "--root, --image, --isolate, --overlay, --read-only, --replay and --sandbox"

// findEngine checks the engine's name, and chooses the CPU that it can show.
func (o *options) findEngine() error {
	if o.separates = o.engine == cgemu.AutoEngine && o.count.separatesCallers(); o.separates {
		o.engine = separatingEngine
	}
	engine, err := cgemu.FindEngine(o.engine)
	if err != nil && o.engine == cgemu.AutoEngine {
		return noEngine(err)
	}
	if err != nil {
		return err
	}
	if _, err := o.findDebug(); err != nil {
		return err
	}
	if o.count.separatesCallers() && engine.Name != separatingEngine {
		return fmt.Errorf("--separate-callers: the engine %s does not tell functions apart by their callers; %s does", engine.Name, separatingEngine)
	}
	if slices.ContainsFunc(o.debug, func(name string) bool { return name != cpuSwitch }) && engine.Name != "jit" {
		return fmt.Errorf("--debug: the engine %s does not tell what it does; jit does", engine.Name)
	}
	o.engineWarning = engine.Warning
	if o.cpu == "" {
		o.cpu = engine.Model
		if o.compat == "valgrind" && engine.Model == "v3" {
			o.cpu = "valgrind"
		}
	}
	return nil
}

// noEngine adds to the error of a host where programs cannot be run what can be done.
func noEngine(err error) error { return fmt.Errorf("%w\n%s", err, elsewhere) }

// defaultEnv is the environment a guest gets without options: the same everywhere.
var defaultEnv = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/", "LANG=C.UTF-8"}

// environment returns the guest's environment. Later settings of a name replace earlier ones.
func (o *options) environment() []string {
	var env []string
	switch {
	case o.inheritEnv:
		env = os.Environ()
	case o.compat == "":
		env = slices.Clone(defaultEnv)
	}
	for _, e := range o.imageEnv() {
		env = setVariable(env, e)
	}
	for _, e := range o.env {
		name, _, has := strings.Cut(e, "=")
		if !has {
			v, ok := os.LookupEnv(name)
			if !ok {
				continue
			}
			e = name + "=" + v
		}
		env = setVariable(env, e)
	}
	return env
}

// setVariable puts e into an environment, in place of what is called like it.
func setVariable(env []string, e string) []string {
	name, _, _ := strings.Cut(e, "=")
	i := slices.IndexFunc(env, func(old string) bool { return strings.HasPrefix(old, name+"=") })
	if i < 0 {
		return append(env, e)
	}
	env[i] = e
	return env
}

func (o *options) names() dwarfmap.Options {
	return dwarfmap.Options{
		Demangle: bool(o.demangle), FullpathAfter: o.fullpathAfter, ExtraDebugPaths: o.extraDebug,
		ShowBelowMain: bool(o.belowMain),
	}
}

// elsewhereCalled are options of ours by the names that they have in other programs, and in export and merge.
var elsewhereCalled = map[string]string{
	"o": "cachegrind-out-file", "out": "cachegrind-out-file", "out-file": "cachegrind-out-file",
	"output": "cachegrind-out-file", "output-file": "cachegrind-out-file",
}

// suggestFlag says in words of command lines what is wrong with a flag: which one may have been meant, or what value is
// expected.
func suggestFlag(f *pflag.FlagSet, err error) error {
	var bad *pflag.InvalidValueError
	if errors.As(err, &bad) {
		return badValue(bad)
	}
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	if name := elsewhereCalled[unknown.GetSpecifiedName()]; name != "" && f.Lookup(name) != nil {
		return fmt.Errorf("%w; did you mean \"--%s\"?", err, name)
	}
	if len(unknown.GetSpecifiedName()) < 2 {
		return err
	}
	var names []string
	f.VisitAll(func(x *pflag.Flag) { names = append(names, "--"+x.Name) })
	return fmt.Errorf("%w%s", err, spell.Suggest("--"+unknown.GetSpecifiedName(), names))
}

// badValue is the error of a flag whose value is none of its type.
func badValue(bad *pflag.InvalidValueError) error {
	flag := bad.GetFlag()
	expected := map[string]string{
		"uint64": "a number from 0 on, below 2^64", "int": "a number", "bool": "true or false, or nothing,",
	}[flag.Value.Type()]
	var number *strconv.NumError
	if expected == "" || !errors.As(bad, &number) {
		return fmt.Errorf("--%s=%s: %w", flag.Name, bad.GetValue(), errors.Unwrap(bad))
	}
	return fmt.Errorf("--%s=%s: %s is expected", flag.Name, bad.GetValue(), expected)
}

// refuseLooseValue refuses yes or no as the program, behind an option that takes them behind a "=" only: the value is
// meant, not yes(1), which does not end.
func refuseLooseValue(f *pflag.FlagSet, args, rest []string) error {
	before := len(args) - len(rest) - 1
	if before < 0 || len(rest) < 2 || rest[0] != "yes" && rest[0] != "no" {
		return nil
	}
	flag := f.Lookup(strings.TrimPrefix(args[before], "--"))
	if flag == nil || !strings.HasPrefix(args[before], "--") || flag.Value.Type() != (*yesNo)(nil).Type() {
		return nil
	}
	return fmt.Errorf("%s %s: a value stands behind a \"=\": %[1]s=%[2]s; to run the program %[2]s: %[1]s -- %[2]s", args[before], rest[0])
}
