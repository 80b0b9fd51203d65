//go:build linux && amd64

package cgemu_test

import (
	"bytes"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu"
	"github.com/cgemu/cgemu/cachesim"
	"github.com/cgemu/cgemu/cgout"
)

// TestLiveChangesNothing takes the counts of running programs as often as can be: what is counted in the end stays the
// same, to the byte, and what was counted before never becomes less.
func TestLiveChangesNothing(t *testing.T) {
	all := cgemu.Config{Args: []string{demo}, Caches: &cachesim.Default, Branches: true, Cycles: true, CallGraph: true, DumpInstr: true}
	interp := all
	interp.Engine = "interp"
	const shell = "(i=0; while [ $i -lt 100 ]; do i=$((i+1)); done) & ls / | sort >/dev/null; wait"
	for name, cfg := range map[string]cgemu.Config{
		"all": all, "interp": interp,
		"threads":   {Args: []string{guest, "threads"}, CallGraph: true},
		"signals":   {Args: []string{guest, "signals"}, CallGraph: true},
		"processes": {Path: "/bin/sh", Args: []string{"sh", "-c", shell}, Env: []string{"PATH=/usr/bin:/bin"}, TraceChildren: true, CallGraph: true},
		"first":     {Path: "/bin/sh", Args: []string{"sh", "-c", shell}, Env: []string{"PATH=/usr/bin:/bin"}},
		"dumps":     {Args: []string{"testdata/dumps"}, OnDump: func(int, *cgout.Profile) {}},
		"calls":     {Args: []string{"testdata/calls"}, CallGraph: true},
		"marks":     {Args: []string{guest, "threads"}, Regions: cgemu.Regions{Toggle: []string{"main"}}},
	} {
		t.Run(name, func(t *testing.T) {
			once := start(t, cfg)
			taken, ticks := 0, 0
			last := map[int]uint64{}
			cfg.ProgressEvery = 20 * time.Microsecond
			cfg.OnLive = func(profiles func() []*cgemu.Result) {
				if ticks++; ticks > 300 && ticks%100 != 0 { // copies of large call graphs take their time
					return
				}
				for _, res := range profiles() {
					taken++
					total := res.Profile.Totals()[0]
					if name != "dumps" {
						require.GreaterOrEqual(t, total, last[res.PID])
					}
					last[res.PID] = total
					require.Nil(t, res.Profile.Insns)
				}
			}
			rounds := 0
			for ; taken <= 5 && rounds < 200; rounds++ { // a busy host may tell seldom
				clear(last)
				ticks = 0
				again := start(t, cfg)
				require.Equal(t, once.stdout, again.stdout)
				sameResult(t, once.Result, again.Result)
				require.LessOrEqual(t, last[again.PID], again.total())
				require.Len(t, again.Children, len(once.Children))
				for i := range again.Children {
					sameResult(t, once.Children[i], again.Children[i])
				}
			}
			if runtime.GOMAXPROCS(0) > 1 { // else a run may be over before others had their turn
				require.Positive(t, taken, "no counts were taken in %d runs", rounds)
			}
		})
	}
}

// TestLiveCountsNameless takes the counts of a program that executes code in no file, to which it may give a name
// later: they are counted at once, and so are its calls.
func TestLiveCountsNameless(t *testing.T) {
	requirePerfMap(t)
	cfg := cgemu.Config{
		Args: []string{compile(t, "gcc", "-O1", "testdata/jit.c", "-o")}, Dir: t.TempDir(), Overlay: true, CallGraph: true, ProgressEvery: time.Millisecond,
	}
	var counted, called uint64
	cfg.OnLive = func(profiles func() []*cgemu.Result) {
		for _, res := range profiles() {
			counted = max(counted, costOf(res.Profile, cgout.Unknown))
			for c := range res.Profile.Graph.Calls {
				if c.Callee.Name == cgout.Unknown {
					called = max(called, c.Count)
				}
			}
		}
	}
	for n := 0; n < 20 && (counted == 0 || called == 0); n++ { // a busy host may tell seldom
		require.Zero(t, start(t, cfg).Exit.Status())
	}
	require.Positive(t, counted)
	require.Positive(t, called)
}

// sameResult holds that two results have the same profile, with all that belongs to it.
func sameResult(t *testing.T, want, got *cgemu.Result) {
	t.Helper()
	texts := func(p *cgout.Profile) (list []string) {
		var b bytes.Buffer
		require.NoError(t, p.Write(&b))
		list = append(list, b.String())
		if p.Graph != nil {
			list = append(list, callgrindText(t, p))
		}
		if p.Insns != nil {
			b.Reset()
			require.NoError(t, p.Insns.Write(&b))
			list = append(list, b.String())
		}
		return list
	}
	require.Equal(t, want.PID, got.PID)
	require.Equal(t, texts(want.Profile), texts(got.Profile))
}
