//go:build oracles && linux && amd64

package cgemu_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu"
	"github.com/cgemu/cgemu/annotate/cli"
)

// A profiled program is one of which Cachegrind and cgemu write profiles.
type profiled struct {
	name    string
	args    func(n string) []string
	sources string // below .ci/debian, or "" for none
}

// profiledPrograms are interpreters as they are installed, and builds of them with debug
// information whose sources are there (.ci/oracles).
var profiledPrograms = []profiled{
	{"perl", perlScript("/usr/bin/perl"), ""},
	{"python3", pythonScript("/usr/bin/python3"), ""},
	{"perl with sources", perlScript("../root/usr/bin/debugperl"), "perl"},
	{"python3 with sources", pythonScript("../root/usr/bin/python3.11d"), "python3.11"},
}

func perlScript(perl string) func(n string) []string {
	return func(n string) []string {
		return []string{perl, "-e", `my %h; $h{$_ % 17} += $_ for 1..` + n + `; print "$_ $h{$_}\n" for sort keys %h; printf "%.10f\n", sqrt 2`}
	}
}

func pythonScript(python string) func(n string) []string {
	return func(n string) []string {
		return []string{python, "-S", "-c", "print(sorted({i * i % 97 for i in range(" + n + ")})[:5])"}
	}
}

// TestOracleAnnotate renders, subtracts and adds up profiles that Cachegrind and cgemu wrote, as
// cg_annotate, cg_diff and cg_merge of Valgrind 3.24 do: the same bytes.
func TestOracleAnnotate(t *testing.T) {
	commands, err := filepath.Abs(".ci/debian/root/usr/bin")
	require.NoError(t, err)
	for _, p := range profiledPrograms {
		t.Run(p.name, func(t *testing.T) {
			dir := t.TempDir()
			if p.sources != "" {
				dir = filepath.Join(".ci/debian", p.sources)
			}
			t.Chdir(dir)
			fewer, more := profileTwice(t, p.args("300")), profileTwice(t, p.args("500"))
			for by := range fewer {
				a, b := fewer[by], more[by]
				text := sameCommand(t, commands+"/cg_annotate", cli.Annotate, "--show-percs=no", a)
				require.Equal(t, p.sources != "", strings.Count(text, "\n-- Annotated source file: ") > 30)
				sameCommand(t, commands+"/cg_annotate", cli.Annotate, "--threshold=0", "--context=2", b)
				sameCommand(t, commands+"/cg_annotate", cli.Annotate, "--diff", "--mod-filename=s/Parser/parser/", a, b)
				sameCommand(t, commands+"/cg_annotate", cli.Annotate, "--show=Dr,Bcm", "--sort=Bcm,Ir", a, b)
				for name, command := range map[string]tool{"cg_diff": cli.Diff, "cg_merge": cli.Merge} {
					file := filepath.Join(t.TempDir(), name)
					require.NoError(t, os.WriteFile(file, []byte(sameCommand(t, commands+"/"+name, command, a, b)), 0o644))
					sameCommand(t, commands+"/cg_annotate", cli.Annotate, file)
				}
			}
		})
	}
}

// profileTwice has a program profiled by Cachegrind and by cgemu, caches and branches too, and
// returns the two files.
func profileTwice(t *testing.T, args []string) [2]string {
	t.Helper()
	out := t.TempDir()
	byCachegrind, byUs := filepath.Join(out, "cachegrind"), filepath.Join(out, "cgemu")
	env := []string{"PERL_HASH_SEED=0", "PYTHONHASHSEED=0"}
	command := append([]string{
		valgrind, "--tool=cachegrind", "--vex-guest-chase=no", "--vex-iropt-level=0", "--cache-sim=yes", "--branch-sim=yes",
		"-q", "--cachegrind-out-file=" + byCachegrind,
	}, args...)
	require.Zero(t, run(t, "", env, command...).status)
	end, r := guestRun(t, cgemu.Config{Args: args, Env: env, CPU: "v3", Caches: &bigCaches, Branches: true})
	require.Zero(t, end.status)
	require.NoError(t, os.WriteFile(byUs, []byte(r.profile), 0o644))
	return [2]string{byCachegrind, byUs}
}

type tool func(name string, args []string, stdout, stderr io.Writer) int

// sameCommand runs one of Valgrind's commands and ours, compares what they print, and returns it.
func sameCommand(t *testing.T, theirs string, ours tool, args ...string) string {
	t.Helper()
	want := run(t, "", []string{"PATH=/usr/bin:/bin"}, append([]string{theirs}, args...)...)
	var out, message bytes.Buffer
	status := ours(theirs, args, &out, &message)
	require.Equal(t, want, ended{out.String(), message.String(), status}, args)
	require.Zero(t, status)
	return out.String()
}
