//go:build linux && amd64

package cgemu_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu"
)

// TestInline attributes costs to inlined functions: of one program in three versions of DWARF, with both engines. What
// a function and what it calls cost is what calls to it do, and without the option nothing is inlined.
func TestInline(t *testing.T) {
	for _, version := range []string{"2", "4", "5"} {
		for _, engine := range fullEngines {
			cfg := cgemu.Config{Args: []string{"dwarfmap/testdata/bin/inline" + version}, Engine: engine, Caches: &smallCaches, DumpInstr: true}
			plain := start(t, cfg)
			cfg.Inline = true
			inlined := start(t, cfg)
			cfg.CallGraph = true
			graph := start(t, cfg)

			require.Equal(t, map[string]uint64{"(below main)": 31, "plain": 55}, plain.functions())
			require.Equal(t, inlined.profile, graph.profile)
			require.Equal(t, plain.Profile.Totals(), inlined.Profile.Totals())
			want := map[string]uint64{"(below main)": 5, "count": 60, "four": 9, "plain": 3, "twice": 9}
			require.Equal(t, want, inlined.functions())
			insns := map[string]uint64{}
			for _, in := range inlined.Profile.Insns.List {
				insns[in.Func] += in.Counts[0]
			}
			require.Equal(t, want, insns)

			require.Equal(t, []string{"(below main)"}, roots(t, graph.Profile))
			var calls []string
			for c := range graph.Profile.Graph.Calls {
				calls = append(calls, fmt.Sprintf("%s:%d -> %s:%d: %d calls, %d Ir", c.Caller.Name, c.Line, c.Callee.Name, c.CalleeLine, c.Count, c.Counts[0]))
				require.True(t, strings.HasSuffix(c.Callee.File, "inline.c"))
				require.Equal(t, c.Callee.Name != "plain", c.Inlined)
			}
			require.Equal(t, []string{
				"(below main):29 -> count:15: 1 calls, 26 Ir", "(below main):30 -> plain:17: 1 calls, 55 Ir", "count:18 -> four:6: 4 calls, 17 Ir",
				"four:12 -> twice:4: 8 calls, 8 Ir", "plain:23 -> count:15: 1 calls, 51 Ir", "plain:24 -> twice:4: 1 calls, 1 Ir",
			}, calls)
		}
	}
}

// TestInlinedOnly asks for a function that is nowhere but inlined.
func TestInlinedOnly(t *testing.T) {
	var log bytes.Buffer
	start(t, cgemu.Config{Args: []string{"dwarfmap/testdata/bin/inline5"}, Regions: cgemu.Regions{Toggle: []string{"tw?ce", "absent"}}, Log: &log})
	require.Regexp(t, `^cgemu: --toggle-collect=tw\?ce: twice was inlined where it is called in inline5: name the function that calls it.*
cgemu: --toggle-collect=absent: no program or library that was loaded has such a function
$`, log.String())
}

// functions are the instructions of a run by function.
func (r ran) functions() map[string]uint64 {
	costs := map[string]uint64{}
	r.Profile.Each(func(_, fn string, _ int, counts []uint64) { costs[fn] += counts[0] })
	return costs
}
