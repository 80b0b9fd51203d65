package cgemutest

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/cgemu/cgemu"
	"github.com/cgemu/cgemu/check"
	"github.com/cgemu/cgemu/mark"
)

// counted names the test whose function is counted, in the environment of a test binary that runs under cgemu for that.
const counted = "CGEMUTEST_FUNC"

// CheckFunc counts what f executes, and compares it as Check does:
//
//	func TestParseCost(t *testing.T) {
//		text := load(t)
//		cgemutest.CheckFunc(t, "0.5%", func() { sink = Parse(text) })
//	}
//
// What f computes goes into a variable of the package, here sink: the compiler leaves out what nobody uses.
//
// It runs the test binary once more, under cgemu, with this test alone: up to CheckFunc as here, then f. What the test
// does before it is done twice, then, and is not counted. A benchmark of the same function is what `cgemu go test
// -bench` counts.
//
// The second run has -short and the package's own flags and arguments as they were given to the first, since what f
// does may depend on them: a baseline has the counts of those that it was written with. It begins in the package's
// directory, as the first did. Of the environment it has no variables.
//
// The count is the same in every run of one test binary. So that it is the same in another one, too, as long as f and
// what it calls are the same, the garbage collector is off there, there is one CPU, f has a stack that need not grow
// below 256 KiB, and a thread of its own, so that the seeds of its maps do not depend on how many others were made
// before. What is left: maps whose keys are pointers, or hold some, and whatever else f makes of addresses; what f
// finds in the heap, such as a sync.Pool that is empty or not; whether the heap has to grow for f, or a sample of its
// profile is taken (some 30,000 and 60,000 instructions), on which flags may act, too; and what f does the first time
// only. It is called once: call it before CheckFunc, if the first time is not what is meant. It has to return: the test
// fails if it ends the process, by os.Exit(0), too.
//
// A test has one CheckFunc or Check; subtests have their own. It skips the test under -race and -cover, with which the
// compiler makes another function. go test says so with -v only: a CI that runs all tests with -race has to run these
// once more without.
func CheckFunc(t testing.TB, limit string, f func()) *cgemu.Result {
	t.Helper()
	if os.Getenv(counted) == t.Name() {
		if !countAlone(f) {
			t.FailNow() // f has called it, in its goroutine
		}
		t.SkipNow() // what follows is for the test itself
	}
	if strings.HasPrefix(t.Name(), "Benchmark") {
		t.Fatalf("cgemutest: CheckFunc is for tests: cgemu go test -bench counts benchmarks")
	}
	if mode := instrumented(); mode != "" {
		t.Skipf("cgemutest: with %s the compiler makes another function", mode)
	}
	if why := foreign(runtime.GOOS, runtime.GOARCH); why != "" {
		t.Skipf("cgemutest: %s", why)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatalf("cgemutest: %v", err)
	}
	args := []string{
		"-test.run=" + pattern(t.Name()), "-test.count=1",
		"-test.paniconexit0", // as go test does: f that ends the process is not counted to its end
		"-test.timeout=10m",  // by the guest's clock: a test that waits for ever ends at once
	}
	cmd := cgemu.Command(self, append(args, ownArgs(os.Args[1:], flag.CommandLine)...)...)
	cmd.Env = []string{counted + "=" + t.Name(), "GOGC=off", "GOMAXPROCS=1"}
	cmd.Dir = packageDir
	cmd.Regions.NotInstr = true
	cmd.Args[0] = "cgemutest" // go test -o gives the binary any name
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	return checkCommand(t, cmd, []string{"CheckFunc"}, limit, func(err error) string {
		text := firstLines(said.String())
		if errors.Is(err, check.ErrNothing) {
			return "the test did not come to CheckFunc when it was run again, to be counted: was it skipped? It has no variables of the environment there\n" + text
		}
		return fmt.Sprintf("the test failed when it was run again, to be counted: %v\n%s", err, text)
	})
}

// firstLines is the begin of what a test says, without the stacks of goroutines in which nothing happens.
func firstLines(text string) string {
	const most = 20
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) > most {
		lines = append(lines[:most], "…")
	}
	return strings.Join(lines, "\n")
}

const (
	// ownThreads is how many threads wait while f has one: more than a test has at that time, so that f's is the
	// newest, and always the one with this number.
	ownThreads = 16
	// ownStack is how large f's stack is at least.
	ownStack = 256 << 10
)

// countAlone counts what f executes, on a stack that has grown and in a thread that nothing else has used: the runtime
// draws what it takes for random from a generator of the thread, which is seeded by the thread's number. It reports
// whether f returned.
func countAlone(f func()) (returned bool) {
	done := make(chan struct{})
	onThread(ownThreads, done, func() {
		calm()
		growStack(ownStack)
		mark.Start()
		f()
		mark.Stop()
		returned = true
	})
	<-done
	return returned
}

// calm lets the thread by which the runtime watches the others, by time, come to rest: it looks every 20 µs when
// something has begun to run, and every 10 ms when that has run for some 20 ms. When f begins, and how often it looks
// then, would depend on what the test did before.
func calm() {
	time.Sleep(time.Millisecond) // where nothing runs, it waits, too, and begins anew
	var sum uint64
	for i := range uint64(30_000_000) {
		sum ^= i
	}
	runtime.KeepAlive(sum) // so that the compiler does not leave out the loop
}

// onThread calls f in a goroutine with a thread of its own, while n others wait that have one, too, and closes done
// when f has ended.
func onThread(n int, done chan struct{}, f func()) {
	go func() {
		runtime.LockOSThread()
		if n > 0 {
			onThread(n-1, done, f)
			<-done
			return
		}
		defer close(done)
		f()
	}()
}

// growStack makes the goroutine's stack at least n bytes large.
//
//go:noinline
func growStack(n int) byte {
	var frame [1 << 10]byte
	frame[n%len(frame)] = 1
	if n > len(frame) {
		return growStack(n-len(frame)) + frame[n%7]
	}
	return frame[0]
}

// foreign says why a test binary for a platform cannot be counted, "" if it can: it is the program that is run.
func foreign(goos, goarch string) string {
	if goos == "linux" && goarch == "amd64" {
		return ""
	}
	return "CheckFunc counts test binaries for linux/amd64, and this one is for " + goos + "/" + goarch +
		": run go test in a container (docker run --platform linux/amd64 …), in WSL2 or in CI"
}

// instrumented names the flag of go test by which the compiler has put code of its own into functions, "" if there is
// none.
func instrumented() string {
	if testing.CoverMode() != "" {
		return "-cover"
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Value == "true" && (s.Key == "-race" || s.Key == "-msan" || s.Key == "-asan") {
				return s.Key
			}
		}
	}
	return ""
}

// pattern is what -test.run, or -test.bench, has to be for one test or subtest.
func pattern(name string) string {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return strings.Join(parts, "/")
}

// ownArgs are those of a test binary's arguments that say what a test does: -test.short, the package's own flags, and
// what follows all flags. They are as they were given: the value of a flag need not say how it was set.
func ownArgs(args []string, flags *flag.FlagSet) (own []string) {
	for len(args) > 0 {
		name, dashed := strings.CutPrefix(args[0], "-")
		if !dashed || name == "" || name == "-" {
			return append(own, args...) // flags end here
		}
		name, _, valued := strings.Cut(strings.TrimPrefix(name, "-"), "=")
		n := 1
		if f := flags.Lookup(name); f != nil && !valued && !isBool(f) && len(args) > 1 {
			n = 2
		}
		others := strings.HasPrefix(name, "test.") && name != "test.short" || strings.HasPrefix(name, "cgemu.")
		if !others {
			own = append(own, args[:n]...)
		}
		args = args[n:]
	}
	return own
}

// isBool reports whether the value of a flag has to stand behind "=".
func isBool(f *flag.Flag) bool {
	b, ok := f.Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}
