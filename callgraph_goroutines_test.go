//go:build linux && amd64

package cgemu_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu"
)

// TestGoroutineCalls has goroutines wait for each other: what one calls is its own, on one thread and on four.
func TestGoroutineCalls(t *testing.T) {
	p := compile(t, "go", "build", "-o", "./testdata/goroutines")
	want := native(t, p)
	for _, cpus := range []int{1, 4} {
		t.Run(fmt.Sprint(cpus), func(t *testing.T) {
			cfg := cgemu.Config{Args: []string{p}, CPUs: cpus, CallGraph: true, Engine: "jit"}
			r := start(t, cfg)
			require.Equal(t, want, r.stdout)
			cfg.Engine = "interp"
			require.Equal(t, callgrindText(t, r.Profile), callgrindText(t, start(t, cfg).Profile))
			calls := map[string]uint64{}
			for c := range r.Profile.Graph.Calls {
				if strings.HasPrefix(c.Callee.Name, "main.") {
					calls[c.Caller.Name+" "+c.Callee.Name] += c.Count
				}
			}
			for pair, n := range map[string]uint64{
				"main.worker main.leaf": 200, "main.worker main.deep": 200, "main.deep main.leaf": 4 * 49 * 50 / 2, "main.deep main.deep": 4 * 49 * 50 / 2,
				"main.main main.pull": 1, "main.main main.many": 1, "main.many.func1 main.leaf": 100, "main.sequence main.leaf": 30,
				"main.main main.recovers": 10, "main.recovers main.fail": 10, "main.fail main.fail": 200,
			} {
				require.Equal(t, n, calls[pair], pair)
			}
			for pair := range calls {
				if leaf, ok := strings.CutSuffix(pair, " main.leaf"); ok {
					require.Contains(t, []string{"main.worker", "main.deep", "main.many.func1", "main.sequence"}, leaf)
				}
			}
			for f, sum := range functionSums(r.Profile) {
				if strings.HasPrefix(f.Name, "main.") && !strings.Contains(f.Name, ".gowrap") && f.Name != "main.spin" { // with which goroutines begin
					require.Zero(t, sum.rest[0], "%s: what it and its calls cost is not what calls to it do", f.Name)
				}
			}
		})
	}
}
