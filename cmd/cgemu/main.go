// Command cgemu counts the instructions x86-64 Linux programs execute. See docs/manual.md.
package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strings"

	"github.com/cgemu/cgemu/annotate/cli"
)

// Exit statuses of our own failures, as env(1) has them.
const (
	exitFailed   = 125
	exitNotExec  = 126
	exitNotFound = 127
)

// The garbage collector begins to work where the heap reaches garbageLimit, in bytes; if more than half of that is in
// use then, heapLimit: see RATIONALE.md, "Why is the garbage collector off?".
const (
	garbageLimit = 128 << 20
	heapLimit    = 384 << 20
)

// When more than heapInUse bytes are in use, gcPercent is how much garbage may come to that, in per cent.
const (
	heapInUse = heapLimit / 2
	gcPercent = 50
)

func main() {
	_ = hugeHeap()
	collectLate(garbageLimit)
	status := dispatch(os.Args)
	pprof.StopCPUProfile() // of --debug=cpu
	os.Exit(status)
}

// collectLate keeps the garbage collector off until the heap reaches limit, and chooses the next one then. When it
// finds more than heapInUse in use it works as in other programs from then on: with the limit alone it would collect
// without pause once more than that is in use.
func collectLate(limit int64) {
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(limit)
	afterCollection(func() {
		switch used := inUse(); {
		case used > heapInUse:
			debug.SetGCPercent(gcPercent)
			debug.SetMemoryLimit(math.MaxInt64)
		case used > garbageLimit/2:
			collectLate(heapLimit)
		default:
			collectLate(garbageLimit)
		}
	})
}

// afterCollection calls f when the next collection is over.
func afterCollection(f func()) {
	runtime.AddCleanup(new([16]byte), func(struct{}) { f() }, struct{}{})
}

// inUse returns how many bytes of the heap are in use.
func inUse() uint64 {
	var s runtime.MemStats // runtime/metrics would take 0.15 ms before each run
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}

// A tool is one of the programs that work on profiles. The name is for its messages.
type tool func(name string, args []string, stdout, stderr io.Writer) int

// commands are the first arguments that are no program to run.
var commands = []string{"run", "annotate", "callers", "diff", "merge", "export", "view", "check", "compare", "go", "doctor", "completion", "help", "debug", "version"}

var tools = map[string]tool{"annotate": cli.Annotate, "callers": cli.Callers, "diff": cli.Diff, "merge": cli.Merge, "export": cli.Export}

// programs are the tools under the names that Valgrind gives them, for links to cgemu.
var programs = map[string]tool{"cg_annotate": cli.Annotate, "cg_diff": cli.CgDiff, "cg_merge": cli.Merge}

// dispatch runs what argv names: by the program's own name, or by the first argument. A program to
// run is the default.
func dispatch(argv []string) int {
	if len(argv) == 0 {
		return run(nil)
	}
	args := argv[1:]
	if argv[0] == writerName {
		return writerMain(args)
	}
	if name := filepath.Base(argv[0]); programs[name] != nil {
		endAtSignal()
		return programs[name](name, args, os.Stdout, os.Stderr)
	}
	if len(args) == 0 {
		return run(args)
	}
	if args[0] == "check" {
		return runCheck("cgemu check", args[1:], os.Stdout, os.Stderr)
	}
	if args[0] == "view" {
		return cli.View("cgemu view", args[1:], os.Stdout, os.Stderr)
	}
	if t := tools[args[0]]; t != nil {
		endAtSignal()
		return t("cgemu "+args[0], args[1:], os.Stdout, os.Stderr)
	}
	if args[0] == completeName {
		return complete(args[1:])
	}
	if c := reference(args[0]); c != nil && len(args) == 2 && (args[1] == "-h" || args[1] == "--help") {
		return write(c.Help(c.Name))
	}
	switch args[0] {
	case "run":
		return run(args[1:])
	case "compare":
		return compare(args[1:])
	case "go":
		return runGo(args[1:])
	case "version", "--version":
		return showVersion(args[1:])
	case "debug":
		if err := noOperands("debug", args[1:]); err != nil {
			return fail(exitFailed, err)
		}
		return write(debugHelp())
	case "doctor":
		return runDoctor(args[1:])
	case "completion":
		return completion(args[1:])
	case "help", "--help", "-h":
		return help(args[1:])
	}
	return run(args)
}

// write prints text that was asked for.
func write(text string) int {
	if _, err := io.WriteString(os.Stdout, text); err != nil {
		return fail(exitFailed, err)
	}
	return 0
}

// stderr is where fail writes.
var stderr io.Writer = os.Stderr

// fail reports a failure of ours.
func fail(status int, err error) int {
	fmt.Fprintf(stderr, "cgemu: %s%s\n", plainError{err}, cure(err))
	return status
}

// A plainError is an error without the name of package cgemu in front, which puts it there itself.
type plainError struct{ error }

// Error implements error.
func (e plainError) Error() string { return strings.TrimPrefix(e.error.Error(), "cgemu: ") }

// Unwrap returns the whole error.
func (e plainError) Unwrap() error { return e.error }
