// Package cgemutest counts instructions in tests: exactly, the same on every machine.
//
// Check runs a program and compares what it counts with a baseline in testdata, which `go test . -cgemu.update` writes:
//
//	func TestParser(t *testing.T) {
//		cgemutest.Check(t, cgemu.Command("./parser", "testdata/big.json"), "0.5%")
//	}
//
// CheckFunc counts a function of the package that is tested:
//
//	func TestParseCost(t *testing.T) {
//		cgemutest.CheckFunc(t, "0.5%", func() { sink = Parse(text) })
//	}
//
// As go test keeps the results of tests, an unchanged program is not run again: the program, and the files below the
// module that it opens, are among what decides that. (-count=1 runs it in any case.)
//
// Run and Report are for tests and benchmarks that look at the counts themselves. Where no engine runs, and CheckFunc
// where the test binary is for another platform than linux/amd64, tests are skipped and say why.
package cgemutest

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cgemu/cgemu"
	"github.com/cgemu/cgemu/check"
	"github.com/cgemu/cgemu/internal/outfile"
)

// Baseline is where Check keeps counts, below the directory of the package that is tested: where the test binary was
// started, whatever directory a test or TestMain has gone to. Its format is that of cgemu check.
const Baseline = "testdata/cgemu.baseline"

var update = flag.Bool("cgemu.update", false, "write the counts of cgemutest into "+Baseline)

// packageDir is the directory of the package that is tested, in which go test starts its test binary: a test, or
// TestMain, may leave it.
var packageDir = workingDir()

func workingDir() string {
	dir, err := os.Getwd()
	if err != nil {
		return "."
	}
	return dir
}

// updating keeps tests that run in parallel from writing the baseline at once.
var updating sync.Mutex

// Run runs a program and returns what it counted. The test fails if the program does, and is skipped where no engine
// runs.
func Run(t testing.TB, cmd *cgemu.Cmd) *cgemu.Result {
	t.Helper()
	needEngine(t, cmd)
	noteFiles(&cmd.Config)
	if err := cmd.Run(); err != nil {
		t.Fatalf("cgemutest: %v: %v", cmd, err)
	}
	return cmd.Result
}

// Check runs a program and compares its instructions, and those of the processes that it starts, with what the test's
// name has in Baseline. limit is how far they may go up: per cent, as "0.5%", or a number of instructions, as "1000";
// "" for nothing at all. What moved them is in the test's log. With -cgemu.update they are written there instead, and
// those of functions that are gone are taken out. What is gone below a function that is still there (t.Run) is taken
// out if all tests run, without -run, -skip and -short.
//
// A test or benchmark has one Check; subtests have their own. A benchmark's stands before the loop. In the baseline a
// name has _ for each #: the second subtest "a", which package testing calls a#01, is a_01 there.
//
// The program's environment is empty unless cmd.Env has variables. The command cgemu gives it three, so it counts
// some more.
func Check(t testing.TB, cmd *cgemu.Cmd, limit string) *cgemu.Result {
	t.Helper()
	return checkCommand(t, cmd, commandOf(cmd.Args), limit, func(err error) string { return fmt.Sprintf("%v: %v", cmd, err) })
}

// checkCommand is Check for a command with a name, which the baseline has. failed says what is wrong if it cannot be
// counted.
func checkCommand(t testing.TB, cmd *cgemu.Cmd, name []string, limit string, failed func(error) string) *cgemu.Result {
	t.Helper()
	b := &check.Benchmark{Name: claim(t), Run: name, Settings: check.Settings{Events: []string{"Ir"}}}
	needEngine(t, cmd)
	if limit != "" {
		l, err := check.ParseLimit(limit)
		if err != nil {
			t.Fatalf("cgemutest: limit: %v", err)
		}
		b.Limit = l
	}
	if err := b.Check(); err != nil {
		t.Fatalf("cgemutest: %v", err)
	}
	if err := cmd.Err(); err != nil {
		t.Fatalf("cgemutest: %v", err)
	}
	m := &check.Manifest{Dir: packageDir}
	noteFiles(&cmd.Config)
	now, err := m.RunConfig(context.Background(), b, &cmd.Config)
	if err != nil {
		t.Fatalf("cgemutest: %s", failed(err))
	}
	updating.Lock()
	defer updating.Unlock()
	old, err := readBaseline()
	if err != nil {
		t.Fatalf("cgemutest: %v", err)
	}
	if *update {
		dropGone(old, b.Name)
		old[b.Name] = now.Counts
		if err := write(old); err != nil {
			t.Fatalf("cgemutest: %v", err)
		}
		return now.Result
	}
	if old[b.Name] == nil {
		t.Fatalf("cgemutest: %s does not have %s: go test -cgemu.update writes it", Baseline, b.Name)
	}
	r := check.Report{Results: []check.Result{check.Compare(b, old[b.Name], now)}, Update: "go test -cgemu.update"}
	var text strings.Builder
	r.WriteResult(&text, 0)
	if r.Regressed() || r.Stale() {
		t.Errorf("%sIf that is meant: go test . %s -cgemu.update", text.String(), only(t.Name()))
	} else {
		t.Logf("%s", text.String())
	}
	return now.Result
}

var (
	// checked has the names of the tests that have called Check or CheckFunc, as long as they run.
	checked sync.Map
	// named has the name of the test that has a name in the baseline.
	named sync.Map
	// baselineName makes of a test's name one that a baseline may have. Package testing makes names with #.
	baselineName = strings.NewReplacer(" ", "_", "#", "_")
)

// claim returns the name that t has in the baseline, for counts of its own: once each time that t runs.
func claim(t testing.TB) string {
	t.Helper()
	if _, twice := checked.LoadOrStore(t.Name(), true); twice {
		t.Fatalf("cgemutest: %s has one Check or CheckFunc already: put the others into subtests", t.Name())
	}
	t.Cleanup(func() { checked.Delete(t.Name()) })
	name := baselineName.Replace(t.Name())
	if other, _ := named.LoadOrStore(name, t.Name()); other != t.Name() {
		t.Fatalf("cgemutest: %s has the name %s in the baseline already: give one of both another", other, name)
	}
	return name
}

// only has go test run one test or benchmark, on a shell's command line.
func only(name string) string {
	quoted := "'" + strings.ReplaceAll(pattern(name), "'", `'\''`) + "'"
	if strings.HasPrefix(name, "Benchmark") {
		return "-run '^$' -bench " + quoted
	}
	return "-run " + quoted
}

// commandOf is a command as a baseline names it: a test may have made the program in a directory that has another name
// each time.
func commandOf(args []string) []string {
	if len(args) > 0 && filepath.IsAbs(args[0]) {
		return append([]string{filepath.Base(args[0])}, args[1:]...)
	}
	return args
}

// Report tells a benchmark how many of each event a run counted for each of its operations, as "Ir/op": all processes
// together. The benchmark fails if operations is less than 1.
func Report(b *testing.B, res *cgemu.Result, operations int) {
	b.Helper()
	if operations < 1 {
		b.Fatalf("cgemutest: Report: %d operations: there has to be one at least", operations)
	}
	totals := res.Profile.Totals()
	for _, c := range res.Children {
		for i, n := range c.Profile.Totals() {
			totals[i] += n
		}
	}
	for i, n := range totals {
		b.ReportMetric(float64(n)/float64(operations), res.Profile.Events[i]+"/op")
	}
}

// noteFiles lets go test know what a program opens. It keeps the result of a test until a file changes that the test
// has looked at, but sees only what is done by way of package os.
func noteFiles(c *cgemu.Config) {
	before := c.OnOpen
	c.OnOpen = func(path string) {
		_, _ = os.Stat(path)
		if before != nil {
			before(path)
		}
	}
	_, _ = os.Stat(c.Path)
}

// needEngine skips t where no engine runs.
func needEngine(t testing.TB, cmd *cgemu.Cmd) {
	t.Helper()
	if _, err := cgemu.FindEngine(cmd.Engine); err != nil {
		t.Skipf("cgemutest: %v", err)
	}
}

func readBaseline() (check.Baseline, error) {
	text, err := os.ReadFile(filepath.Join(packageDir, Baseline))
	if errors.Is(err, fs.ErrNotExist) {
		return check.Baseline{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Baseline, cause(err))
	}
	b, err := check.ReadBaseline(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("%s:%w", Baseline, err)
	}
	return b, nil
}

func write(b check.Baseline) error {
	file := filepath.Join(packageDir, Baseline)
	err := os.MkdirAll(filepath.Dir(file), 0o755)
	if err == nil {
		err = outfile.Write(context.Background(), file, 0o644, b.Write)
	}
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w", Baseline, cause(err))
	}
	return nil
}

// cause drops the name of a file from an error, which has Baseline instead.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
