package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu"
)

// told parses options of run and returns what is said about those of Valgrind's.
func told(t *testing.T, args ...string) (*options, string) {
	t.Helper()
	o, rest, err := parseOptions(append(args, "prog"))
	require.NoError(t, err, "%v", args)
	require.Equal(t, []string{"prog"}, rest)
	var b bytes.Buffer
	o.valgrind.tell(&b)
	return o, b.String()
}

// TestValgrindOptions gives each option of Valgrind's values: those that are true here pass in silence, others are
// refused with what comes nearest, or mean nothing and are named.
func TestValgrindOptions(t *testing.T) {
	needsEngine(t)
	for name, o := range valgrindOptions {
		require.NotContains(t, valgrindNothing, name, "in both tables")
		for _, value := range strings.Fields(o.true) {
			_, text := told(t, "--"+name+"="+value)
			require.Empty(t, text, name)
		}
		arg := "--" + name + "=other"
		if o.refused == "" {
			_, text := told(t, arg)
			require.Equal(t, "cgemu: means nothing here: "+arg+"\n", text)
			continue
		}
		_, _, err := parseOptions([]string{arg, "prog"})
		require.ErrorContains(t, err, "--"+name+"=")
		require.ErrorContains(t, err, "not here: "+o.refused)
	}
	require.True(t, slices.IsSorted(valgrindNothing))
	for _, name := range valgrindNothing {
		_, text := told(t, "--"+name)
		require.Equal(t, "cgemu: means nothing here: --"+name+"=yes\n", text)
	}
}

// TestValgrindRunner has the command lines of those who run Callgrind and Cachegrind for benchmarks.
func TestValgrindRunner(t *testing.T) {
	needsEngine(t)
	o, text := told(t, "--tool=callgrind", "--callgrind-out-file=x.%p", "--cache-sim=yes", "--collect-atstart=no", "--instr-atstart=no", "--compress-pos=no",
		"--compress-strings=no", "--separate-threads=yes", "--toggle-collect=*::bench", "--dump-instr=no", "--dump-line=yes", "--combine-dumps=no",
		"--fair-sched=try", "--error-exitcode=201", "--trace-children=yes", "--vgdb=no", "--I1=32768,8,64", "--D1=32768,8,64", "--LL=8388608,16,64")
	require.Equal(t, "cgemu: means nothing here: --compress-pos=no --compress-strings=no --fair-sched=try --error-exitcode=201 --vgdb=no\n", text)
	require.Equal(t, "x.%p", o.outFile)
	require.True(t, bool(o.count.callGraph))
	require.True(t, bool(o.count.threads))
	require.False(t, bool(o.count.instrAtStart))
	require.False(t, bool(o.count.collectAtStart))
	require.True(t, bool(o.cacheSim))
	o, text = told(t, "--tool=cachegrind", "--vex-guest-chase=no", "--vex-iropt-level=0", "--cache-sim=no")
	require.Empty(t, text)
	require.Equal(t, defaultOut, o.outFile)
	o, _ = told(t, "--tool=callgrind")
	require.Equal(t, callgrindOut, o.outFile)
	o, _ = told(t, "--tool=callgrind", "--call-graph=no")
	require.False(t, bool(o.count.callGraph))
	require.Equal(t, callgrindOut, o.outFile)
	o, _ = told(t, "--tool=callgrind", "--cachegrind-out-file=y")
	require.Equal(t, "y", o.outFile)
	o, _ = told(t, "--simulate-cache=yes")
	require.True(t, bool(o.cacheSim))
	_, _, err := parseOptions([]string{"--tool=memcheck", "prog"})
	require.ErrorContains(t, err, "--tool=memcheck: ")
	require.ErrorContains(t, err, "there are no other tools")
}

// needsEngine skips a test where options are refused since no engine runs.
func needsEngine(t *testing.T) {
	if _, err := cgemu.FindEngine(cgemu.AutoEngine); err != nil {
		t.Skip(err)
	}
}
