package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/cgemu/cgemu"
	"github.com/cgemu/cgemu/cachesim"
	"github.com/cgemu/cgemu/dwarfmap"
	"github.com/cgemu/cgemu/internal/spell"
)

const usage = `usage: cgemu [run] [options] [--] PROGRAM [ARGUMENTS...]
       cgemu annotate|diff|merge [options] FILE...
       cgemu check [options] [MANIFEST]
       cgemu compare [options] COMMAND COMMAND...
       cgemu go [options] test [flags of go test] [packages]
       cgemu help [run|annotate|diff|merge|check|compare|go]
       cgemu debug
       cgemu version [-v]

Runs an x86-64 Linux program, counts the instructions it executes by source line, and writes
the counts to a file that cgemu annotate and cg_annotate read.
Options of run:
      --cachegrind-out-file=FILE  the profile (cachegrind.out.%p); %p is the guest's pid, 1000 at first,
                                  %n a number, %q{VAR} a variable, %% a per cent sign
      --trace-children=yes|no     count what other processes execute that the program starts,
                                  each in a profile of its own (yes)
      --engine=auto|jit|unicorn|check  what executes the guest; check compares the other two (auto)
      --cpu=v1|v2|v3|valgrind     the guest's CPU (v3; v1 with the engines unicorn and check)
      --cpus=N                    how many CPUs the guest sees, 1 to 1024 (1)
      --compat=valgrind           stack, auxiliary vector, user and CPU as under Valgrind; no environment
  -e, --env=NAME[=VALUE]          put a variable into the guest's environment (repeatable);
                                  without a value, cgemu's own if there is one
      --inherit-env               give the guest cgemu's environment
      --sysroot=DIR               look the guest's absolute paths up in DIR first
      --network=loopback|none|host
                                  the guest's network: a loopback interface inside cgemu, none but AF_UNIX,
                                  or that interface and the host's network beyond (loopback)
      --no-network                the same as --network=none
      --root=DIR                  DIR is the guest's /: it sees no other files, PROGRAM included
      --bind=DIR[:PATH]           the guest sees DIR of the host at PATH, too, whatever --root is (repeatable); what it
                                  changes there stays
      --overlay                   what the guest changes in files stays in memory and is gone at the end: the host's files
                                  stay as they are, but its standard output and error
      --isolate[=DIR]             --overlay, and nothing tells which machine it is: DIR (the working directory) is /work, /tmp is empty,
                                  files have one time, standard files are pipes: for counts that are the same everywhere
      --read-only                 the guest changes no files but its standard output and error
      --sandbox                   for programs that are not trusted: --read-only, no network of the host, and a host whose
                                  kernel confines cgemu itself, too; --root=DIR hides the host's other files, --overlay
                                  instead of --read-only lets it change what it sees
      --stdio=auto|pipe|host      what the guest sees of its standard files: pipes, whatever they are, so that counts do not depend
                                  on where output goes; or what they are on the host. auto is host if input and output are both
                                  terminals, and pipe otherwise (auto)
      --etc=fixed|host            /etc/ld.so.cache, passwd, group, nsswitch.conf, localtime and timezone: so that counts do not
                                  depend on what is installed, or as on the host (fixed; host with --root, --sysroot, --compat)
      --seed=N                    seed of all the guest takes for random (0)
      --seed-sched=N              try another schedule of threads and processes, as reproducible (0: the default)
      --date=DATE|now             when its virtual clock begins, as 2026-12-31 or 2026-12-31T23:59:59, UTC (2030-01-01;
                                  now with --network=host)
      --time=virtual|real         the guest's clocks and sleeps (virtual)
      --rep=each|once             count a REP instruction for each iteration, or once (each)
      --max-insns=N               end the run after N instructions, with status 124 (0: never)
      --strace                    print system calls
      --verify                    run the program twice and compare profiles, output and exit status;
                                  status 123 if they differ
      --progress=yes|no           on a terminal, show how far a run is that takes long (yes)
      --cache-sim=yes|no          simulate caches: data references, and misses of three caches (no)
      --branch-sim=yes|no         simulate branch prediction (no)
      --cache=NAME                which caches: default, athlon, core2, skylake, icelake, zen, zen2,
                                  zen3, zen5, or host, for this machine's (default)
      --I1=SIZE,ASSOC,LINE|NAME   another first-level cache of instructions than --cache has;
                                  NAME as there
      --D1=SIZE,ASSOC,LINE|NAME   another first-level cache of data
      --LL=SIZE,ASSOC,LINE|NAME   another last-level cache; also --L2
      --dump-instr=yes|no         count by instruction, too: FILE.insns, for cgemu annotate --asm (no)
      --cycles                    estimate cycles from instructions, misses and mispredictions
      --events=LIST               count more: syscalls, rep, taken, loads, stores, allocs
      --instr-at-start=yes|no     no: count nothing before the program asks for it (yes)
      --collect-atstart=yes|no    the same, but caches and branches are simulated (yes)
      --toggle-collect=FUNCTION   count only in FUNCTION and what it calls; * and ? stand for any
                                  text and any character (repeatable; so are the next two)
      --from=FUNCTION             count from where FUNCTION is first entered
      --to=FUNCTION               count to there
      --go-benchmarks             PROGRAM is a test binary of Go's: count its benchmarks, and show the counts
                                  in their results (cgemu go test -bench=. does it for packages)
      --demangle=yes|no           readable C++ and Rust names (yes)
      --show-below-main=yes|no    name what calls main (no)
      --fullpath-after=TEXT       cut source paths up to and with TEXT (repeatable)
      --extra-debuginfo-path=DIR  look for separate debug files there too (repeatable)
      --debug=LIST                show what the engine does: cgemu debug says what there is
      --log-file=FILE             write messages there instead of stderr
  -q, --quiet                     no summary
  -v, --verbose                   say which symbols could not be read, which system calls were not there,
                                  which caches are simulated, and what confines the guest
  -h, --help                      print this
`

// An options holds the command line of run.
type options struct {
	outFile, logFile   string
	engine             string
	cpu, compat        string
	cpus               int
	env                []string
	inheritEnv         bool
	sysroot, root      string
	readOnly, overlay  bool
	isolate            string
	binds              []string
	sandbox            bool
	seed, maxInsns     uint64
	seedSched          uint64
	date               dateFlag
	time, rep          string
	stdio, etc         string
	network            string
	noNetwork          bool
	strace, verify     bool
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
	engineWarning      string
	fullpathAfter      []string
	extraDebug         []string
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

// parseOptions parses the options in front of the program; rest is the program and its arguments.
func parseOptions(args []string) (o *options, rest []string, err error) {
	o = &options{demangle: true, children: true, progress: true}
	f := pflag.NewFlagSet("cgemu", pflag.ContinueOnError)
	f.SetInterspersed(false)
	f.SetOutput(io.Discard)
	f.Usage = func() {}
	f.StringVar(&o.outFile, "cachegrind-out-file", defaultOut, "")
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
	f.BoolVar(&o.readOnly, "read-only", false, "")
	f.StringArrayVar(&o.binds, "bind", nil, "")
	f.BoolVar(&o.overlay, "overlay", false, "")
	f.StringVar(&o.isolate, "isolate", "", "")
	f.Lookup("isolate").NoOptDefVal = "."
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
	f.BoolVarP(&o.quiet, "quiet", "q", false, "")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "")
	if err := f.Parse(args); err != nil {
		err = suggestFlag(f, err)
		return nil, nil, err
	}
	if o.valgrind.callgrind && !f.Changed("cachegrind-out-file") && !f.Changed("callgrind-out-file") {
		o.outFile = callgrindOut
	}
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
	return o, f.Args(), o.check()
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
	if o.root != "" && o.sysroot != "" {
		return errors.New("--root and --sysroot: not both")
	}
	if (o.overlay || len(o.binds) > 0) && o.sysroot != "" {
		return errors.New("--sysroot: not with --overlay or --bind")
	}
	if o.overlay && o.readOnly {
		return errors.New("--overlay and --read-only: not both")
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

// findEngine checks the engine's name, and chooses the CPU that it can show.
func (o *options) findEngine() error {
	engine, err := cgemu.FindEngine(o.engine)
	if err != nil {
		return err
	}
	if _, err := o.findDebug(); err != nil {
		return err
	}
	if len(o.debug) > 0 && engine.Name != "jit" {
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
	for _, e := range o.env {
		name, _, has := strings.Cut(e, "=")
		if !has {
			v, ok := os.LookupEnv(name)
			if !ok {
				continue
			}
			e = name + "=" + v
		}
		i := slices.IndexFunc(env, func(old string) bool { return strings.HasPrefix(old, name+"=") })
		if i < 0 {
			env = append(env, e)
		} else {
			env[i] = e
		}
	}
	return env
}

func (o *options) names() dwarfmap.Options {
	return dwarfmap.Options{
		Demangle: bool(o.demangle), FullpathAfter: o.fullpathAfter, ExtraDebugPaths: o.extraDebug,
		ShowBelowMain: bool(o.belowMain),
	}
}

// suggestFlag adds to the error of an unknown flag which one may have been meant.
func suggestFlag(f *pflag.FlagSet, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || len(unknown.GetSpecifiedName()) < 2 {
		return err
	}
	var names []string
	f.VisitAll(func(x *pflag.Flag) { names = append(names, "--"+x.Name) })
	return fmt.Errorf("%w%s", err, spell.Suggest("--"+unknown.GetSpecifiedName(), names))
}
