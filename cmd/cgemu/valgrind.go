package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// Command lines that were made for Valgrind are to work: runners of benchmarks make them, and scripts. What would
// change counts and is not here is refused; the rest is accepted, and a line says what of it means nothing.

// A valgrindOption is an option of Valgrind's, of its Cachegrind or of its Callgrind, that is none of ours.
type valgrindOption struct {
	// true are the values that say what is so here anyway, or ask for nothing, with blanks between.
	true string
	// refused says why other values cannot be had, and what comes nearest. Without it they mean nothing here.
	refused string
}

const (
	oneContext = "a call graph has functions once, or by their callers (--separate-callers=)"
	byFunction = "--toggle-collect=, --from= and --to= count parts of a run, and client requests write dumps"
	asCaches   = "caches are simulated as Cachegrind does (--cache-sim=yes)"
)

// valgrindOptions are those of Valgrind 3.13 to 3.25.
var valgrindOptions = map[string]valgrindOption{
	// What is counted, and under which names.
	"collect-alloc":      {"no", "--events=allocs counts allocations"},
	"collect-bus":        {"no", "locked instructions are not counted apart; --dump-instr=yes and cgemu annotate --asm show their lines"},
	"collect-systime":    {"no", "system calls take no time of the host's; --events=syscalls counts them"},
	"cacheuse":           {"no", asCaches + ", without how much of a line is used"},
	"simulate-hwpref":    {"no", asCaches + ", without prefetching"},
	"simulate-sectors":   {"no", asCaches + ", without sectors"},
	"simulate-wb":        {"no", asCaches + ", without what is written back"},
	"dump-after":         {"", byFunction},
	"dump-before":        {"", byFunction},
	"dump-every-bb":      {"0", byFunction},
	"zero-before":        {"", byFunction},
	"fn-group":           {"", oneContext + ": they cannot be grouped; cgemu annotate --focus=GLOB shows some alone"},
	"fn-skip":            {"", oneContext + ": what one counts cannot go to its callers; --toggle-collect= counts what it calls too"},
	"separate-recs":      {"1", oneContext + ": however often they call themselves"},
	"scheduling-quantum": {"", "turns have lengths of cgemu's own; --seed-sched=N makes others"},

	"trace-children-skip":        {"", "--trace-children=no counts no other process"},
	"trace-children-skip-by-arg": {"", "--trace-children=no counts no other process"},

	// What Valgrind's translator does: counts are those of these values.
	"vex-guest-chase": {"no", ""},
	"vex-iropt-level": {"0", ""},

	// The form of profiles.
	"combine-dumps": {"no", ""}, "compress-mangled": {}, "compress-pos": {}, "compress-strings": {},
	"dump-bb": {"no", ""}, "dump-bbs": {"no", ""}, "dump-line": {"yes", ""}, "mangle-names": {}, "pop-on-jump": {"no", ""},
	"skip-direct-rec": {}, "skip-plt": {}, "trace-jump": {"no", ""},
}

// valgrindNothing are options that concern what cgemu does not have: errors that tools find, gdb, messages of other
// forms, and how Valgrind itself works.
var valgrindNothing = strings.Fields(`
	alignment allow-mismatched-debuginfo aspace-minaddr avg-transtab-entry-size child-silent-after-fork command-line-only
	core-redzone-size ct-verbose ct-vstart debug-dump debuginfo-server default-suppressions dsymutil dump-error
	enable-debuginfod error-exitcode error-limit error-markers exit-on-first-error fair-sched gen-suppressions input-fd keep-debuginfo
	kernel-variant log-fd log-socket main-stacksize max-stackframe max-threads merge-recursive-frames modify-fds num-callers
	num-transtab-sectors profile-flags profile-heap profile-interval progress-interval px-default px-file-backed read-inline-info
	read-var-info realloc-zero-bytes-frees redzone-size require-text-symbol resync-filter run-cxx-freeres run-libc-freeres
	sanity-level show-emwarns show-error-list sigill-diagnostics sim-hints smc-check soname-synonyms stats suppressions
	sym-offsets time-stamp trace-cfi trace-flags trace-malloc trace-notabove trace-notbelow trace-redir trace-sched trace-signals
	trace-symtab trace-symtab-patt trace-syscalls track-fds unw-stack-scan-frames unw-stack-scan-thresh valgrind-stacksize
	vex-guest-max-insns vex-iropt-precise-memory-exns vex-iropt-register-updates vex-iropt-unroll-thresh vex-iropt-verbosity
	vex-regalloc-version vgdb vgdb-error vgdb-poll vgdb-prefix vgdb-shadow-registers vgdb-stop-at wait-for-gdb xml xml-fd xml-file
	xml-socket xml-user-comment xtree-compress-strings xtree-memory xtree-memory-file`)

// callgrindOut is what profiles are called when Callgrind was asked for: where its users look for them.
const callgrindOut = "callgrind.out.%p"

// A fromValgrind is what a command line has of Valgrind's options.
type fromValgrind struct {
	callgrind bool
	nothing   []string // those that mean nothing, as they were given
}

// register adds the options to f. outFile is where the name of profiles goes.
func (v *fromValgrind) register(f *pflag.FlagSet, outFile *string) {
	f.StringVar(outFile, "callgrind-out-file", defaultOut, "")
	f.Var(f.Lookup("instr-at-start").Value, "instr-atstart", "")
	f.Var(f.Lookup("cache-sim").Value, "simulate-cache", "")
	f.Var(&valgrindFlag{v, "tool"}, "tool", "")
	names := slices.Clone(valgrindNothing)
	for name := range valgrindOptions {
		names = append(names, name)
	}
	for _, name := range names {
		f.Var(&valgrindFlag{v, name}, name, "")
	}
	for _, name := range append(names, "instr-atstart", "simulate-cache") {
		f.Lookup(name).NoOptDefVal = "yes" // values follow "=" only, as in Valgrind
	}
	for _, name := range append(names, "instr-atstart", "simulate-cache", "tool", "callgrind-out-file") {
		f.Lookup(name).Hidden = true // in the help: the manual has them
	}
}

// A valgrindFlag is one of these options.
type valgrindFlag struct {
	v    *fromValgrind
	name string
}

// String implements pflag.Value.
func (*valgrindFlag) String() string { return "" }

// Type implements pflag.Value.
func (*valgrindFlag) Type() string { return "value" }

// Set implements pflag.Value.
func (x *valgrindFlag) Set(value string) error {
	if x.name == "tool" {
		return x.v.setTool(value)
	}
	o := valgrindOptions[x.name]
	switch {
	case slices.Contains(strings.Fields(o.true), value):
	case o.refused != "":
		return fmt.Errorf("not here: %s", o.refused)
	default:
		x.v.nothing = append(x.v.nothing, "--"+x.name+"="+value)
	}
	return nil
}

// setTool takes the name of a tool.
func (v *fromValgrind) setTool(name string) error {
	switch name {
	case "cachegrind", "callgrind":
		v.callgrind = name == "callgrind"
		return nil
	}
	return fmt.Errorf("cgemu counts what programs execute, as cachegrind and callgrind do; there are no other tools")
}

// tell says what of the command line is otherwise than with Valgrind.
func (v *fromValgrind) tell(w io.Writer) {
	if len(v.nothing) > 0 {
		fmt.Fprintf(w, "cgemu: means nothing here: %s\n", strings.Join(v.nothing, " "))
	}
}
