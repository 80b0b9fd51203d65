package cgemutest

import (
	"os"
	"regexp"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	"github.com/cgemu/cgemu"
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
// It runs the test binary once more, under cgemu, with this test alone: up to CheckFunc as here, then f. What the test does before it is done
// twice, then, and is not counted. The garbage collector is off there, and there is one CPU, so that the count is of f and what it
// calls, and of no other goroutine that happens to run. A benchmark of the same function is what `cgemu go test -bench` counts.
//
// A test has one CheckFunc; subtests have their own. It skips the test under -race and -cover, with which the compiler makes another function.
func CheckFunc(t testing.TB, limit string, f func()) *cgemu.Result {
	t.Helper()
	if os.Getenv(counted) == t.Name() {
		mark.Start()
		f()
		mark.Stop()
		t.SkipNow() // what follows is for the test itself
	}
	if mode := instrumented(); mode != "" {
		t.Skipf("cgemutest: with %s the compiler makes another function", mode)
	}
	if _, twice := checked.LoadOrStore(t.Name(), true); twice {
		t.Fatalf("cgemutest: a test has one CheckFunc: put the others into subtests")
	}
	t.Cleanup(func() { checked.Delete(t.Name()) })
	self, err := os.Executable()
	if err != nil {
		t.Fatalf("cgemutest: %v", err)
	}
	cmd := cgemu.Command(self, "-test.run="+pattern(t.Name()), "-test.count=1")
	cmd.Env = []string{counted + "=" + t.Name(), "GOGC=off", "GOMAXPROCS=1"}
	cmd.Regions.NotInstr = true
	return Check(t, cmd, limit)
}

// checked has the names of the tests that have called CheckFunc, as long as they run.
var checked sync.Map

// instrumented names the flag of go test by which the compiler has put code of its own into functions, "" if there is none.
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

// pattern is what -test.run has to be for one test or subtest.
func pattern(name string) string {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return strings.Join(parts, "/")
}
