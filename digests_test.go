//go:build linux && amd64

package cgemu_test

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu"
)

var update = flag.Bool("update", false, "rewrite testdata/digests.txt from this run")

const digestFile = "testdata/digests.txt"

// beyondV1 are the vectors that get SIGILL on the CPU model v1: an engine without an instruction says so otherwise than
// one that has it and refuses it.
var beyondV1 = map[string]bool{
	"t18_straddle": true, "t23_cmov": true, "t25_sse": true, "t26_avx": true, "t27_xsave": true, "t28_nodata": true, "t37_verbose": true,
}

// digestPrograms are the command lines of the programs that are checked in.
func digestPrograms(t *testing.T) (list [][]string) {
	list = [][]string{
		{demo}, {guest, "a", "b"}, {guest, "world"}, {guest, "threads"}, {guest, "signals"}, {guest, "faults", "100"},
		{guest, "sleep", "1000"}, {guest, "exit", "3"}, {guest, "kill", "10"}, {guest, "crash"}, {guest, "env"}, {"testdata/dumps"},
		{"testdata/flags"}, {"testdata/approx"}, {avx512},
	}
	files, err := filepath.Glob("testdata/vectors/bin/t*")
	require.NoError(t, err)
	require.Len(t, files, 43)
	for _, f := range files {
		list = append(list, []string{f})
	}
	return list
}

// digestModels are the CPU models that a program is run with.
func digestModels(program string) []string {
	switch {
	case program == avx512:
		return []string{"v4"}
	case beyondV1[filepath.Base(program)]:
		return []string{"v3"}
	}
	return []string{"v1", "v3"}
}

// digest runs a program and returns its instructions and a digest of all it leaves: profiles, output and status.
func digest(t *testing.T, args []string, engine, model string, simulated bool) string {
	t.Helper()
	cfg := cgemu.Config{Args: args, Engine: engine, CPU: model, Env: []string{"A=1"}, TraceChildren: true}
	if simulated {
		cfg.Caches, cfg.Branches = &bigCaches, true
	}
	r := start(t, cfg)
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%q\n%d\n", r.profile, r.stdout, r.Exit.Status())
	for _, c := range r.Children {
		fmt.Fprintf(h, "%d %s\n", c.PID, text(t, c))
	}
	return fmt.Sprintf("%d %x", r.total(), h.Sum(nil)[:8])
}

// TestDigests runs the programs that are checked in and compares with what another host got: counts are equal on all
// CPUs, of all makers, and with all engines.
func TestDigests(t *testing.T) {
	want := map[string]string{}
	if !*update {
		data, err := os.ReadFile(digestFile)
		require.NoError(t, err)
		for line := range strings.Lines(string(data)) {
			if name, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && line[0] != '#' {
				want[name] = value
			}
		}
	}
	var got strings.Builder
	got.WriteString("# What the programs in testdata leave: arguments, CPU model, whether caches and branches are simulated; instructions, and a\n" +
		"# digest of profiles, output and status. TestDigests compares; go test -run TestDigests -update . makes it anew.\n")
	names := 0
	for _, args := range digestPrograms(t) {
		for _, model := range digestModels(args[0]) {
			for _, simulated := range []bool{false, true} {
				name := fmt.Sprintf("%s %s %v", strings.Join(args, " "), model, simulated)
				value := digest(t, args, "jit", model, simulated)
				fmt.Fprintf(&got, "%s: %s\n", name, value)
				names++
				if *update {
					want[name] = value
				}
				require.Equal(t, want[name], value, name)
				for range 2 {
					require.Equal(t, want[name], digest(t, args, "jit", model, simulated), "%s with code from the run before", name)
				}
				require.Equal(t, want[name], digest(t, args, "interp", model, simulated), "%s with interp", name)
				// libunicorn has its own approximations, and nothing of v3.
				if model == "v1" && args[0] != "testdata/approx" && hasEngine("unicorn") {
					require.Equal(t, want[name], digest(t, args, "unicorn", model, simulated), "%s with unicorn", name)
				}
			}
		}
	}
	require.Len(t, want, names, "programs that are not there any more")
	if *update {
		require.NoError(t, os.WriteFile(digestFile, []byte(got.String()), 0o644))
	}
}

func hasEngine(name string) bool {
	_, err := cgemu.FindEngine(name)
	return err == nil
}
