//go:build linux && amd64

package cgemu_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu"
	"github.com/cgemu/cgemu/cachesim"
)

// The caches of testdata/vectors/big and testdata/vectors/small.
var (
	bigCaches   = cachesim.Default
	smallCaches = cachesim.Config{
		I1: cachesim.Geometry{Size: 256, Assoc: 2, Line: 32}, D1: cachesim.Geometry{Size: 512, Assoc: 2, Line: 32},
		LL: cachesim.Geometry{Size: 4096, Assoc: 4, Line: 64},
	}
)

// Columns of the files in testdata/vectors/big and testdata/vectors/small.
var (
	allColumns    = []string{"Ir", "I1mr", "ILmr", "Dr", "D1mr", "DLmr", "Dw", "D1mw", "DLmw", "Bc", "Bcm", "Bi", "Bim"}
	cacheColumns  = allColumns[:9]
	branchColumns = []string{"Ir", "Bc", "Bcm", "Bi", "Bim"}
)

// A vectorRun is a way in which the programs of testdata/vectors are run.
type vectorRun struct {
	name     string
	files    string // the directory that has what Cachegrind reported
	columns  []string
	caches   *cachesim.Config
	branches bool
}

var vectorRuns = []vectorRun{
	{"ir", "ir", []string{"Ir"}, nil, false},
	{"big", "big", allColumns, &bigCaches, true},
	{"big, caches", "big", cacheColumns, &bigCaches, false},
	{"big, branches", "big", branchColumns, nil, true},
	{"small", "small", allColumns, &smallCaches, true},
	{"small, caches", "small", cacheColumns, &smallCaches, false},
	{"small, branches", "small", branchColumns, nil, true},
}

// eachVector calls test with each of the programs of testdata/vectors, by name, each way to run it, and what
// the reference's file has.
func eachVector(t *testing.T, test func(t *testing.T, name string, run vectorRun, want string)) {
	for _, run := range vectorRuns {
		files, err := filepath.Glob("testdata/vectors/" + run.files + "/*.out")
		require.NoError(t, err)
		require.Len(t, files, 43)
		for _, file := range files {
			name := strings.TrimSuffix(filepath.Base(file), ".out")
			t.Run(run.name+"/"+name, func(t *testing.T) {
				if name == "t35_fault" {
					file = faultWant(run.files)
				}
				text, err := os.ReadFile(file)
				require.NoError(t, err)
				test(t, name, run, string(text))
			})
		}
	}
}

// TestVectors runs the assembly programs of testdata/vectors and compares with what Cachegrind
// counts, and the engines' files with one another.
func TestVectors(t *testing.T) {
	eachVector(t, func(t *testing.T, name string, run vectorRun, want string) {
		var files []string
		for _, engine := range fullEngines {
			got := start(t, cgemu.Config{
				Path: "testdata/vectors/bin/" + name, Args: []string{"./" + name}, CPU: "valgrind", Compat: true,
				Caches: run.caches, Branches: run.branches, Engine: engine,
			})
			require.Equal(t, run.columns, got.Result.Profile.Events)
			sameProfile(t, normal(selectColumns(t, want, run.columns)), normal(got.profile))
			if run.caches != nil {
				assert.Equal(t, descriptions(want), descriptions(got.profile))
			} else {
				assert.Empty(t, descriptions(got.profile))
			}
			files = append(files, got.profile)
			sameProfile(t, files[0], got.profile)
		}
	})
}

// faultWant is the file with what t35_fault counts. Cachegrind forgets events in front of a
// fault; we do not (docs/counting.md, "Faults"). So, against Cachegrind's files:
//
// Lines 27 to 30, instructions in front of the fault, and line 31, which faults, count their Ir.
// The one reference of line 31 is the one that faults, and does not count. Line 28 reads buf: Dr, and
// the first use of its line, D1mr and DLmr. So line 36, which reads buf+8, hits. With small's lines
// of 32 bytes, line 29 (0x401020) is the first instruction in the second line of code: I1mr, and no
// ILmr, as LL's lines are of 64 bytes and line 21 fetched this one. So the handler, line 34, hits.
// The only branch, line 38, does not change.
func faultWant(files string) string {
	if files == "ir" {
		return "testdata/vectors/t35_fault.want"
	}
	return "testdata/vectors/t35_fault." + files + ".want"
}

// selectColumns keeps some columns of a profile.
func selectColumns(t *testing.T, profile string, columns []string) string {
	t.Helper()
	var keep []int // fields of a line of costs
	var b strings.Builder
	for line := range strings.Lines(profile) {
		fields := strings.Fields(line)
		switch {
		case fields[0] == "events:":
			keep = []int{0}
			for _, c := range columns {
				i := slices.Index(fields, c)
				require.Positive(t, i, "no %s in %s", c, line)
				keep = append(keep, i)
			}
			fallthrough
		case fields[0] == "summary:", fields[0][0] >= '0' && fields[0][0] <= '9':
			for i, k := range keep {
				if i > 0 {
					b.WriteByte(' ')
				}
				b.WriteString(fields[k])
			}
			b.WriteByte('\n')
		default:
			b.WriteString(line)
		}
	}
	return b.String()
}

// descriptions returns the desc lines of a profile.
func descriptions(profile string) (list []string) {
	for line := range strings.Lines(profile) {
		if strings.HasPrefix(line, "desc:") {
			list = append(list, line)
		}
	}
	return list
}

// TestSimulationsDoNotMix checks that a run with one simulation, or none, counts what a run with
// both counts of the same events, and that two runs are equal.
func TestSimulationsDoNotMix(t *testing.T) {
	const cpu = "valgrind" // it does not tell the guest which caches are simulated
	for _, args := range [][]string{{demo}, {guest, "threads"}, {guest, "signals"}, {guest, "faults", "100"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			both := start(t, cgemu.Config{Args: args, CPU: cpu, Caches: &smallCaches, Branches: true})
			for _, column := range []string{"I1mr", "ILmr", "Dr", "D1mr", "DLmr", "Dw", "D1mw", "DLmw", "Bc", "Bcm", "Bi", "Bim"} {
				assert.NotZero(t, both.Result.Profile.Total(column), column)
			}
			for _, run := range []struct {
				columns  []string
				caches   *cachesim.Config
				branches bool
			}{{allColumns, &smallCaches, true}, {cacheColumns, &smallCaches, false}, {branchColumns, nil, true}, {[]string{"Ir"}, nil, false}} {
				got := start(t, cgemu.Config{Args: args, CPU: cpu, Caches: run.caches, Branches: run.branches})
				assert.Equal(t, both.stdout, got.stdout)
				sameProfile(t, normal(selectColumns(t, both.profile, run.columns)), normal(got.profile))
			}
		})
	}
}

// TestGuestSeesCaches asks a guest which caches its CPU has.
func TestGuestSeesCaches(t *testing.T) {
	if _, err := os.Stat("/bin/bash"); err != nil {
		t.Skip("no bash to ask")
	}
	for _, tt := range []struct {
		model  string
		caches *cachesim.Config
		want   string
	}{
		{"v3", nil, "8192 KB"}, {"v3", &smallCaches, "4 KB"}, {"v1", &bigCaches, "8192 KB"}, {"valgrind", &smallCaches, "8192 KB"},
	} {
		got := start(t, cgemu.Config{
			Args: []string{"/bin/bash", "-c", `while read -r line; do [[ $line == "cache size"* ]] && echo "${line#*: }"; done </proc/cpuinfo`},
			CPU:  tt.model, Caches: tt.caches,
		})
		assert.Equal(t, tt.want+"\n", got.stdout, tt.model)
	}
}

func TestBadCaches(t *testing.T) {
	bad := bigCaches
	bad.D1.Line = 16
	_, err := cgemu.Run(t.Context(), cgemu.Config{Args: []string{demo}, Path: demo, Caches: &bad})
	require.EqualError(t, err, "cgemu: the minimum line size (16) must be equal to or larger than the maximum register size (32)")
	bad.D1.Line = 32
	_, err = cgemu.Run(t.Context(), cgemu.Config{Args: []string{demo}, Path: demo, Caches: &bad, CPU: "v4"})
	require.EqualError(t, err, "cgemu: the minimum line size (32) must be equal to or larger than the maximum register size (64 with --cpu=v4)")
}
