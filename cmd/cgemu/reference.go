package main

import (
	"strings"
	"sync"

	"github.com/cgemu/cgemu"
	"github.com/cgemu/cgemu/annotate/cli"
	"github.com/cgemu/cgemu/cachesim"
	"github.com/cgemu/cgemu/check"
	"github.com/cgemu/cgemu/export"
	"github.com/cgemu/cgemu/internal/usage"
)

// references returns all commands, as help, manual pages and completions show them. The first one is the running of a
// program.
func references() []*usage.Command {
	list := append([]*usage.Command{runCommand()}, cli.Commands()...)
	return append(list, checkReference(), compareCommand(), goCommand(), doctorCommand(), completionCommand(), helpCommand(), debugCommand(), versionCommand())
}

// reference returns the command of a name, as the first argument is; nil if there is none.
func reference(name string) *usage.Command {
	if name == "run" {
		return runCommand()
	}
	for _, c := range references()[1:] {
		if commandName(c) == name {
			return c
		}
	}
	return nil
}

// commandName is what a command is called as cgemu's first argument.
func commandName(c *usage.Command) string {
	if c == runCommand() {
		return "run"
	}
	return strings.TrimPrefix(c.Name, "cgemu ")
}

var yesOrNo = []string{"yes", "no"}

// yesNoOption is an option that a yesNo reads.
func yesNoOption(name, text string) usage.Option {
	return usage.Option{Names: []string{name}, Values: yesOrNo, Optional: true, Text: text}
}

func flagOption(name, text string) usage.Option {
	return usage.Option{Names: strings.Split(name, ", "), Text: text}
}

func valueOption(name, arg, text string) usage.Option {
	return usage.Option{Names: strings.Split(name, ", "), Arg: arg, Text: text}
}

func choiceOption(name, values, text string) usage.Option {
	return usage.Option{Names: []string{name}, Values: strings.Split(values, "|"), Text: text}
}

// reportFormats are what the values of check's --report begin with.
func reportFormats() (list []string) {
	for _, f := range check.Formats {
		list = append(list, f+"=")
	}
	return list
}

var runCommand = sync.OnceValue(func() *usage.Command {
	return &usage.Command{
		Name:     "cgemu",
		Title:    "counts the instructions of x86-64 Linux programs",
		Synopsis: []string{"[run] [options] [--] PROGRAM [ARGUMENTS...]", "COMMAND [options] ..."},
		About: []string{
			"Runs an x86-64 Linux program on a CPU and a Linux of its own, counts the instructions it executes by source line, and writes the " +
				"counts to a file that cgemu annotate and cg_annotate read. The same program gives the same counts every time.",
		},
		Examples: []usage.Row{
			{Name: "cgemu ./prog", Text: "count; the profile is cachegrind.out.1000"},
			{Name: "cgemu annotate cachegrind.out.1000", Text: "where the instructions are, by function and line"},
			{Name: "cgemu --toggle-collect=work ./prog", Text: "only the function work and what it calls"},
			{Name: "cgemu --cache-sim=yes --branch-sim=yes ./prog", Text: "misses of caches and mispredicted branches, too"},
			{Name: "cgemu diff old.out new.out", Text: "what changed between two profiles"},
			{Name: "cgemu compare './old in' './new in'", Text: "what two commands count, and where they differ"},
			{Name: "cgemu check", Text: "are the benchmarks of cgemu.toml within their limits?"},
		},
		Groups: []usage.Group{
			{Title: "What is counted", Options: []usage.Option{
				yesNoOption("--cache-sim", "simulate caches: data references, and misses of three caches (no)"),
				yesNoOption("--branch-sim", "simulate branch prediction (no)"),
				{
					Names: []string{"--cache"}, Arg: "NAME", Values: cacheNames(),
					Text: "which caches: " + strings.Join(cacheNames()[:len(cacheNames())-1], ", ") + ", or host, for this machine's (default)",
				},
				valueOption("--I1", "SIZE,ASSOC,LINE|NAME", "another first-level cache of instructions than --cache has; NAME as there"),
				valueOption("--D1", "SIZE,ASSOC,LINE|NAME", "another first-level cache of data"),
				valueOption("--LL, --L2", "SIZE,ASSOC,LINE|NAME", "another last-level cache"),
				{
					Names: []string{"--events"}, Arg: "LIST", Values: cgemu.EventGroups(), List: true,
					Text: "count more: any of " + strings.Join(cgemu.EventGroups(), ", "),
				},
				yesNoOption("--cycles", "estimate cycles from instructions, misses and mispredictions (no)"),
				choiceOption("--rep", "each|once", "count a REP instruction for each iteration, or once (each)"),
				yesNoOption("--trace-children", "count what other processes execute that the program starts, each in a profile of its own (yes)"),
			}},
			{Title: "Which part of the program", Options: []usage.Option{
				valueOption("--toggle-collect", "FUNCTION", "count only in FUNCTION and what it calls; * and ? stand for any text and any "+
					"character (repeatable; so are the next two)"),
				valueOption("--from", "FUNCTION", "count from where FUNCTION is first entered"),
				valueOption("--to", "FUNCTION", "count to there"),
				flagOption("--go-benchmarks", "PROGRAM is a test binary of Go's: count its benchmarks, and show the counts in their results "+
					"(cgemu go test -bench=. does it for packages)"),
				yesNoOption("--instr-at-start", "no: count nothing before the program asks for it (yes)"),
				yesNoOption("--collect-atstart", "the same, but caches and branches are simulated (yes; no with --toggle-collect)"),
			}},
			{Title: "The profile", Options: []usage.Option{
				valueOption("--cachegrind-out-file", "FILE", "the profile (cachegrind.out.%p); %p is the guest's pid, 1000 at first, %n a number, "+
					"%q{VAR} a variable, %% a per cent sign"),
				yesNoOption("--inline", "costs belong to functions that were inlined, where debug information tells of them (no)"),
				yesNoOption("--call-graph", "record who calls whom, too: the profile is callgrind.out.%p, in Callgrind's format (no)"),
				yesNoOption("--collect-jumps", "record jumps within functions, too; implies --call-graph=yes (no)"),
				valueOption("--separate-callers", "N", "tell functions apart by up to N callers: f'caller'caller; implies --call-graph=yes, and --engine=interp (0). "+
					"--separate-callers1=FUNCTION to --separate-callers9=FUNCTION do so for functions of that name (repeatable)"),
				yesNoOption("--separate-threads", "write a profile for each thread: FILE-01, FILE-02 and so on (no)"),
				{
					Names: []string{"--out-format"}, Arg: "FORMAT", Values: export.Formats,
					Text: "write the profile for another tool, as cgemu export does, to cgemu.%p.EXTENSION; all but lcov imply --call-graph=yes",
				},
				yesNoOption("--dump-instr", "count by instruction, too: FILE.insns, for cgemu annotate --asm (no)"),
				yesNoOption("--demangle", "readable C++ and Rust names (yes)"),
				yesNoOption("--show-below-main", "name what calls main (no)"),
				valueOption("--fullpath-after", "TEXT", "cut source paths up to and with TEXT (repeatable)"),
				valueOption("--extra-debuginfo-path", "DIR", "look for separate debug files there too (repeatable)"),
				{
					Names: []string{"--debuginfod"}, Arg: "no|yes|URLS", Optional: true,
					Text: "fetch debug files that are not found from servers: yes are those of the variable DEBUGINFOD_URLS (no)",
				},
			}},
			{Title: "The guest's world", Options: []usage.Option{
				choiceOption("--cpu", "v1|v2|v3|v4|valgrind", "the guest's CPU (v3; v1 with the engines unicorn and check-unicorn; otherwise valgrind with --compat=valgrind); "+
					"with features that it is to have or to lack: v3,+erms,-avx2"),
				valueOption("--cpus", "N", "how many CPUs the guest sees, 1 to 1024 (1)"),
				valueOption("-e, --env", "NAME[=VALUE]", "put a variable into the guest's environment (repeatable); without a value, cgemu's own if "+
					"there is one"),
				flagOption("--inherit-env", "give the guest cgemu's environment"),
				choiceOption("--stdio", "auto|pipe|host", "what the guest sees of its standard files: pipes, whatever they are, so that counts do not "+
					"depend on where output goes; or what they are on the host. auto: host if input and output are both terminals, otherwise pipe (auto)"),
				choiceOption("--etc", "fixed|host", "/etc/ld.so.cache, passwd, group, nsswitch.conf, localtime and timezone: so that counts do not depend on "+
					"what is installed, or as on the host (fixed; host with --root, --image, --sysroot and --compat)"),
				choiceOption("--time", "virtual|real", "the guest's clocks and sleeps (virtual)"),
				valueOption("--date", "DATE|now", "when its virtual clock begins, as 2026-12-31 or 2026-12-31T23:59:59, UTC (2030-01-01; now with --network=host)"),
				valueOption("--seed", "N", "seed of all the guest takes for random (0)"),
				choiceOption("--network", "loopback|none|host", "the guest's network: a loopback interface inside cgemu, none but AF_UNIX, or that "+
					"interface and the host's network beyond (loopback)"),
				flagOption("--no-network", "the same as --network=none"),
				valueOption("--sysroot", "DIR", "look the guest's absolute paths up in DIR first"),
				choiceOption("--compat", "valgrind", "stack, auxiliary vector, user and CPU as under Valgrind; no environment"),
			}},
			{Title: "Confinement", Options: []usage.Option{
				flagOption("--read-only", "the guest changes no files but its standard output and error"),
				flagOption("--overlay", "what the guest changes in files stays in memory and is gone at the end: the host's files stay as they are, "+
					"but its standard output and error"),
				{
					Names: []string{"--isolate"}, Arg: "DIR", Optional: true,
					Text: "--overlay, and nothing tells which machine it is: DIR (the working directory) is /work, /tmp is empty, its files have one owner and time, " +
						"standard files are pipes: for counts that are the same everywhere",
				},
				valueOption("--root", "DIR", "DIR is the guest's /: it sees no other files, PROGRAM included"),
				valueOption("--image", "FILE[:TAG]", "a container image (docker save, podman save, an OCI layout or archive) or a tar archive of a root directory "+
					"is the guest's /; what it changes there stays in memory. Without PROGRAM, what the image names is run"),
				flagOption("--no-cache", "keep neither translated code and names for the program's next run, nor what --image has decompressed and listed, and use none of what was kept"),
				valueOption("--bind", "DIR[:PATH][:ro]", "the guest sees DIR of the host at PATH, too, whatever --root and --image are (repeatable); what it changes "+
					"there stays, unless :ro forbids that; -v DIR:PATH, with a slash in front of PATH, is the same"),
				flagOption("--sandbox", "for programs that are not trusted: --read-only, no network of the host, and a host whose kernel confines "+
					"cgemu itself, too; --root=DIR hides the host's other files, --overlay instead of --read-only lets it change what it sees"),
			}},
			{Title: "How it is run", Options: []usage.Option{
				choiceOption("--engine", "auto|jit|interp|unicorn|check|check-unicorn", "what executes the guest; check compares jit with interp, check-unicorn unicorn with it (auto)"),
				valueOption("--max-insns", "N", "end the run after N instructions, with status 124 (0: never)"),
				flagOption("--verify", "run the program twice and compare profiles, output and exit status; status 123 if they differ"),
				valueOption("--record", "FILE", "write to FILE all that the program takes from outside, with --network=host from the network, too: --replay repeats the run elsewhere"),
				valueOption("--replay", "FILE", "repeat the run that FILE records, without its files: no PROGRAM, and no options that change what it sees"),
				valueOption("--seed-sched", "N", "try another schedule of threads and processes, as reproducible (0: the default)"),
			}},
			{Title: "Messages, and looking inside", Options: []usage.Option{
				flagOption("-q, --quiet", "no summary"),
				flagOption("-v, --verbose", "say which symbols could not be read, which system calls were not there, which caches are simulated, "+
					"and what confines the guest"),
				valueOption("--log-file", "FILE", "write messages there instead of stderr"),
				yesNoOption("--progress", "on a terminal, show how far a run is that takes long (yes)"),
				{
					Names: []string{"--view"}, Arg: "HOST:PORT", Optional: true,
					Text: "show the counts so far in a browser of this host while the program runs (127.0.0.1:0, a free port)",
				},
				flagOption("--strace", "print system calls"),
				{
					Names: []string{"--debug"}, Arg: "LIST", Values: debugNames(), List: true,
					Text: "show what the engine does: cgemu debug says what there is",
				},
				flagOption("-h, --help", "print this"),
			}},
		},
		Operands: usage.Program,
		Sections: []usage.Section{
			{Title: "Commands", Rows: []usage.Row{
				{Name: "run", Text: "runs a program; the word may be left out"},
				{Name: "annotate", Text: "shows where the events of profiles took place"},
				{Name: "callers", Text: "shows who calls a function, and whom it calls"},
				{Name: "diff", Text: "shows what differs between two profiles"},
				{Name: "merge", Text: "adds profiles up"},
				{Name: "export", Text: "writes profiles for other tools: pprof, KCachegrind, flame graphs, …"},
				{Name: "view", Text: "shows profiles as a page in a browser"},
				{Name: "check", Text: "holds benchmarks to the counts that they had"},
				{Name: "go", Text: "runs go test under cgemu: benchmarks count instructions"},
				{Name: "compare", Text: "runs commands, and says what each counts and where they differ"},
				{Name: "doctor", Text: "says what works on this machine, and what helps where something does not"},
				{Name: "completion", Text: "prints what has bash, zsh or fish complete command lines"},
				{Name: "help", Text: "prints this; help COMMAND of another command, help --OPTION of an option, help all everything"},
				{Name: "debug", Text: "lists the values of --debug"},
				{Name: "version", Text: "prints version, commit and platform; with -v what engines there are"},
			}},
			{Title: "Files", Rows: []usage.Row{
				{Name: "cachegrind.out.1000", Text: "the profile; other processes that the program starts have .1001 and so on"},
				{Name: "cachegrind.out.1000.insns", Text: "counts by instruction, with --dump-instr=yes"},
				{Name: "cachegrind.out.1000.old", Text: "the profile of another program that was in this place"},
			}},
			{Title: "Exit status", Rows: []usage.Row{
				{Name: "the program's", Text: "if it exits"},
				{Name: "128+N", Text: "if signal N killed it, or cgemu"},
				{Name: "123", Text: "--verify: two runs differ"},
				{Name: "124", Text: "--max-insns ended the run"},
				{Name: "125", Text: "cgemu failed: a wrong option, a machine that it cannot run on, a profile that it cannot write"},
				{Name: "126", Text: "PROGRAM is there but cannot be run"},
				{Name: "127", Text: "PROGRAM is not there"},
			}},
		},
		SeeAlso: []string{"cgemu-annotate(1)", "cgemu-diff(1)", "cgemu-merge(1)", "cgemu-check(1)", "cgemu-compare(1)", "cgemu-go(1)",
			"cgemu-doctor(1)", "valgrind(1)"},
	}
})

// cacheNames are the values of --cache.
func cacheNames() (list []string) {
	for _, p := range cachesim.Presets {
		list = append(list, p.Name)
	}
	return append(list, "host")
}

// debugNames are the values of --debug.
func debugNames() (list []string) {
	for _, s := range debugSwitches {
		list = append(list, s.name)
	}
	return list
}

var checkReference = sync.OnceValue(func() *usage.Command {
	return &usage.Command{
		Name:     "cgemu check",
		Title:    "holds benchmarks to the counts that they had",
		Synopsis: []string{"[options] [MANIFEST]", "--merge [options] REPORT..."},
		About: []string{
			"Runs the benchmarks of a manifest (cgemu.toml) and compares what they count with the baseline beside it.",
		},
		Examples: []usage.Row{
			{Name: "cgemu check --update", Text: "write the baseline, to be committed with the manifest"},
			{Name: "cgemu check", Text: "compare"},
			{Name: "cgemu check --filter='parse*' -j 4", Text: "some of them, four at once"},
			{Name: "cgemu check --report=junit=report.xml", Text: "a report for CI as well"},
			{Name: "cgemu check --build --against=main", Text: "build, and compare with the branch main, built in a worktree"},
		},
		Groups: []usage.Group{
			{Title: "What is run", Options: []usage.Option{
				valueOption("--filter", "NAMES", "run those whose name or group is like one of NAMES: a list of patterns, with * and ?"),
				flagOption("--list", "list the benchmarks and run none"),
				flagOption("--build", "run the manifest's build command first"),
				valueOption("-j, --jobs", "N", "run so many at once (1)"),
				valueOption("--shard", "I/N", "run the I-th of N parts; auto or auto/N takes the numbers from the variables of a CI or of Kubernetes"),
				flagOption("--merge", "the arguments are reports (json) of all parts: join them, compare and run nothing"),
				valueOption("--manifest", "FILE", "the manifest, with --merge (cgemu.toml)"),
			}},
			{Title: "With what it is compared", Options: []usage.Option{
				flagOption("--update", "write the counts into the baseline, for the benchmarks that ran"),
				valueOption("--against", "REVISION", "compare with another revision of the git repository instead of the baseline: it is built by the "+
					"manifest's command in a worktree of its own"),
			}},
			{Title: "Reports", Options: []usage.Option{
				{Names: []string{"--report"}, Arg: "FORMAT=FILE", Values: reportFormats(), Text: "write a report to FILE as well (repeatable): " + strings.Join(check.Formats, ", ") +
					" (github are annotations, codequality is GitLab's); FILE is - for standard output: github beside the text, others instead of it"},
				flagOption("-h, --help", "print this"),
			}},
		},
		Operands: usage.Files,
		Sections: append(manifestSections(), usage.Section{Title: "Exit status", Rows: []usage.Row{
			{Name: "0", Text: "nothing went beyond its limit"},
			{Name: "1", Text: "something went beyond its limit, or the baseline lacks it, or has counts of something else"},
			{Name: "2", Text: "something could not be measured, or the command line or the manifest is wrong"},
		}}),
		SeeAlso: []string{"cgemu(1)", "cgemu-diff(1)"},
	}
})

// manifestSections are what a manifest has.
func manifestSections() []usage.Section {
	list := []usage.Section{{Title: "A manifest, cgemu.toml", Lines: strings.Split(strings.TrimSpace(check.Minimal), "\n")}}
	for _, t := range check.Tables {
		s := usage.Section{Title: "Keys of " + t.Name}
		if t.Name == "" {
			s.Title = "Its keys, at the top"
		}
		for _, k := range t.Keys {
			s.Rows = append(s.Rows, usage.Row{Name: k.Name, Text: k.Text})
		}
		list = append(list, s)
	}
	return list
}

var completionCommand = sync.OnceValue(func() *usage.Command {
	return &usage.Command{
		Name:     "cgemu completion",
		Title:    "prints what has a shell complete command lines",
		Synopsis: []string{strings.Join(usage.Shells, "|")},
		About: []string{
			"Prints a script. With it a shell completes cgemu's commands, options, their values and files, and the arguments of the program that is run.",
		},
		Examples: []usage.Row{
			{Name: `eval "$(cgemu completion bash)"`, Text: "in ~/.bashrc"},
			{Name: `eval "$(cgemu completion zsh)"`, Text: "in ~/.zshrc, behind compinit"},
			{Name: "cgemu completion fish | source", Text: "in ~/.config/fish/config.fish"},
		},
		Groups:   []usage.Group{{Title: "Options", Options: []usage.Option{flagOption("-h, --help", "print this")}}},
		Operands: usage.Nothing,
		Words:    usage.Shells,
	}
})

var helpCommand = sync.OnceValue(func() *usage.Command {
	return &usage.Command{
		Name:     "cgemu help",
		Title:    "says what commands and options do",
		Synopsis: []string{"[COMMAND|--OPTION|all]", "--man [COMMAND]"},
		About: []string{
			"Without an argument: how programs are run. With an option: what it does, in each command that has it. With --man: a manual page, for man -l -.",
		},
		Groups: []usage.Group{{Title: "Options", Options: []usage.Option{
			flagOption("--man", "print the manual page in the language of troff: cgemu help --man | man -l -"),
			flagOption("-h, --help", "print this"),
		}}},
		Operands: usage.Nothing,
	}
})

var debugCommand = sync.OnceValue(func() *usage.Command {
	return &usage.Command{
		Name:     "cgemu debug",
		Title:    "lists the values of --debug",
		Synopsis: []string{""},
		About:    []string{"Lists the values that run's --debug can have, which show what the engine does."},
		Groups:   []usage.Group{{Title: "Options", Options: []usage.Option{flagOption("-h, --help", "print this")}}},
		Operands: usage.Nothing,
	}
})

var versionCommand = sync.OnceValue(func() *usage.Command {
	return &usage.Command{
		Name:     "cgemu version",
		Title:    "prints version, commit, compiler and platform",
		Synopsis: []string{"[-v]"},
		About:    []string{"Prints the version and the commit of which this cgemu was built, the compiler, and the platform."},
		Groups: []usage.Group{{Title: "Options", Options: []usage.Option{
			flagOption("-v, --verbose", "say which engines there are, and which can be used"),
			flagOption("-h, --help", "print this"),
		}}},
		Operands: usage.Nothing,
	}
})
