//go:build oracles && linux && amd64

package cgemu_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu"
)

// callgrind returns what Callgrind collects of a program, its option --toggle-collect given for each
// function.
func callgrind(t *testing.T, program []string, functions []string) uint64 {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	args := []string{
		valgrind, "--tool=callgrind", "--vex-guest-chase=no", "--vex-iropt-level=0",
		"-q", "--log-file=/dev/null", "--callgrind-out-file=" + out,
	}
	for _, f := range functions {
		args = append(args, "--toggle-collect="+f)
	}
	require.Zero(t, run(t, "", []string{"PERL_HASH_SEED=0"}, append(args, program...)...).status)
	text, err := os.ReadFile(out)
	require.NoError(t, err)
	m := regexp.MustCompile(`(?m)^totals: (\d+)`).FindSubmatch(text)
	require.NotNil(t, m, "%s", text)
	n, err := strconv.ParseUint(string(m[1]), 10, 64)
	require.NoError(t, err)
	return n
}

// sameAsCallgrind compares what the two count of a program in functions.
func sameAsCallgrind(t *testing.T, program []string, functions ...string) {
	t.Helper()
	want := callgrind(t, program, functions)
	got := start(t, compat(t, cgemu.Config{
		Args: program, Env: []string{"PERL_HASH_SEED=0", preload}, Regions: cgemu.Regions{Toggle: functions},
	}))
	assert.Equal(t, want, got.total(), "%s %s", program, strings.Join(functions, ", "))
}

// TestOracleToggle leaves functions by returns, longjmp, exceptions and panics, and compares with
// Callgrind. Functions left by a signal handler are not compared: Callgrind loses what it has not added up then.
func TestOracleToggle(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"-static", "-no-pie", "-pie"} {
		p := compile(t, "g++", "-O1", "-g", kind, "testdata/regions/toggle.cc", "-o")
		for _, functions := range [][]string{
			{"plain(int)"}, {"recursive(int)"}, {"jumper(int)"}, {"thrower(int)"}, {"outer(int)"}, {"leaf(int)"},
			{"outer(int)", "plain(int)"}, {"recursive(int)", "leaf(int)"}, {"jumper(int)", "between(int)"},
			{"thrower(int)", "between*"}, {"no such function"},
		} {
			sameAsCallgrind(t, []string{p}, functions...)
		}
	}
	p := compile(t, "musl-gcc", "-O1", "-static", "testdata/regions/jumps.c", "-o")
	sameAsCallgrind(t, []string{p}, "deep")
	sameAsCallgrind(t, []string{p}, "outer")
	p = compile(t, "rustc", "-O", "-g", "testdata/regions/panics.rs", "-o")
	for _, f := range []string{"panics::thrower", "panics::other", "panics::main"} {
		sameAsCallgrind(t, []string{p}, f)
	}
}

// TestOracleToggleProgram compares a large program, whose errors are longjmps.
func TestOracleToggleProgram(t *testing.T) {
	const script = `my @a = map { ($_*7919)%10007 } 1..2000; @a = sort { $a <=> $b } @a;
		for my $i (1..50) { eval { die "x" if $i % 2; 1 } }`
	for _, f := range []string{
		"Perl_sv_setsv_flags", "Perl_pp_sort", "malloc", "Perl_runops_standard", "Perl_die_unwind", "Perl_pp_die",
		"_dl_relocate_object", "perl_run",
	} {
		sameAsCallgrind(t, []string{"/usr/bin/perl", "-e", script}, f)
	}
}
