//go:build oracles && linux && amd64

package cgemu_test

import (
	"bytes"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu"
	"github.com/cgemu/cgemu/annotate"
	"github.com/cgemu/cgemu/emu"
)

// A profiled program is one of which Cachegrind and cgemu write profiles, twice.
type profiled struct {
	name    string
	args    func(n string) []string
	sources string // below .ci/debian, or "" for none
}

// profiledPrograms are interpreters as they are installed, and builds of them with debug
// information whose sources are there (.ci/debian-sources).
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

// TestOracleAnnotate renders, subtracts and adds up profiles that Cachegrind and cgemu wrote, and
// compares with cg_annotate, cg_diff and cg_merge of the installed Valgrind. Those of 3.19 lay
// tables out in another way than ours do, so their numbers are compared: of every function, and
// of every line of every file.
func TestOracleAnnotate(t *testing.T) {
	for _, p := range profiledPrograms {
		t.Run(p.name, func(t *testing.T) {
			dir := t.TempDir()
			if p.sources != "" {
				dir = filepath.Join(".ci/debian", p.sources)
			}
			t.Chdir(dir)
			made := map[string][2]string{}
			for i, n := range []string{"300", "500"} {
				args := p.args(n)
				byCachegrind, byUs := profileTwice(t, args)
				for by, file := range map[string]string{"cachegrind": byCachegrind, "cgemu": byUs} {
					pair := made[by]
					pair[i] = file
					made[by] = pair
				}
			}
			for by, pair := range made {
				t.Run(by, func(t *testing.T) {
					sameAnnotation(t, pair[0], p.sources != "")
					diff := sameCommand(t, "cg_diff", annotate.Diff, pair[0], pair[1])
					sameAnnotation(t, diff, p.sources != "")
					sum := sameCommand(t, "cg_merge", annotate.Merge, pair[0], pair[1])
					sameAnnotation(t, sum, p.sources != "")
				})
			}
		})
	}
}

// profileTwice has a program profiled by Cachegrind and by cgemu, caches and branches too.
func profileTwice(t *testing.T, args []string) (byCachegrind, byUs string) {
	t.Helper()
	out := t.TempDir()
	byCachegrind, byUs = filepath.Join(out, "cachegrind"), filepath.Join(out, "cgemu")
	env := []string{"PERL_HASH_SEED=0", "PYTHONHASHSEED=0"}
	command := append([]string{
		valgrind, "--tool=cachegrind", "--vex-guest-chase=no", "--vex-iropt-level=0", "--cache-sim=yes", "--branch-sim=yes",
		"-q", "--cachegrind-out-file=" + byCachegrind,
	}, args...)
	require.Zero(t, run(t, "", env, command...).status)
	model, err := emu.ModelByName("v3")
	require.NoError(t, err)
	end, r := guestRun(t, cgemu.Config{Args: args, Env: env, Model: model, Caches: &bigCaches, Branches: true})
	require.Zero(t, end.status)
	require.NoError(t, os.WriteFile(byUs, []byte(r.profile), 0o644))
	return byCachegrind, byUs
}

// sameCommand runs one of Valgrind's commands and ours on files, compares what the two profiles
// that come out say of each function, and returns a file with ours.
func sameCommand(t *testing.T, name string, ours func(string, []string, io.Writer, io.Writer) int, files ...string) string {
	t.Helper()
	want := run(t, "", []string{"PATH=/usr/bin:/bin"}, append([]string{name}, files...)...)
	require.Zero(t, want.status, want.stderr)
	var out, message bytes.Buffer
	require.Zero(t, ours(name, files, &out, &message), message.String())
	a, b := byFunction(t, want.stdout), byFunction(t, out.String())
	require.NotEmpty(t, b)
	require.Equal(t, a, b)
	file := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(file, out.Bytes(), 0o644))
	return file
}

// countsOf has the counts of functions ("file:function") or of the lines of one file, in order.
type countsOf map[string][]int64

// byFunction adds up a profile's counts by function. Those that counted nothing are left out.
func byFunction(t *testing.T, profile string) countsOf {
	t.Helper()
	sums := countsOf{}
	var file, key string
	for line := range strings.Lines(profile) {
		line = strings.TrimSuffix(line, "\n")
		if name, ok := strings.CutPrefix(line, "fl="); ok {
			file = name
		} else if name, ok := strings.CutPrefix(line, "fn="); ok {
			key = file + ":" + name
		} else if fields := strings.Fields(line); line != "" && (line[0] == '-' || line[0] >= '0' && line[0] <= '9') {
			if sums[key] == nil {
				sums[key] = make([]int64, events)
			}
			for i, field := range fields[1:] {
				n, err := strconv.ParseInt(field, 10, 64)
				require.NoError(t, err)
				sums[key][i] += n
			}
		}
	}
	sums.dropZero()
	return sums
}

func (c countsOf) dropZero() {
	maps.DeleteFunc(c, func(_ string, counts []int64) bool {
		return !slices.ContainsFunc(counts, func(n int64) bool { return n != 0 })
	})
}

// sameAnnotation renders a profile with cg_annotate and with ours, in the current directory:
// equal counts of all functions, and of every line of equal files.
func sameAnnotation(t *testing.T, profile string, sources bool) {
	t.Helper()
	want := run(t, "", []string{"PATH=/usr/bin:/bin"}, "cg_annotate", "--auto=yes", "--threshold=0", "--context=100000", profile)
	require.Zero(t, want.status, want.stderr)
	var out, message bytes.Buffer
	require.Zero(t, annotate.Annotate("cgemu annotate", []string{"--threshold=0", "--context=100000", profile}, &out, &message), message.String())
	text, err := os.ReadFile(profile)
	require.NoError(t, err)
	functions := byFunction(t, string(text))
	a, b := annotated(t, want.stdout), annotated(t, out.String())
	require.Equal(t, functions, a.functions)
	require.Equal(t, functions, b.functions)
	require.Equal(t, slices.Sorted(maps.Keys(a.files)), slices.Sorted(maps.Keys(b.files)))
	require.Equal(t, sources, len(b.files) > 20, "%d annotated files", len(b.files))
	for name, lines := range a.files {
		source, err := os.ReadFile(name)
		require.NoError(t, err)
		if last := &lines[len(lines)-1]; len(lines) > 1 && !bytes.HasSuffix(source, []byte("\n")) {
			*last = (*last)[:len(*last)-1] // cg_annotate since 3.22 loses the last character
		}
		require.Equal(t, lines, b.files[name], name)
	}
}

// An annotation is what a report says: the counts of functions, and annotated files, whose lines are
// their counts and their text.
type annotation struct {
	functions countsOf
	files     map[string][]string
}

const events = 13

var (
	// Counts, each with its per cent or blanks, and what they are of.
	countRow = regexp.MustCompile(`^(?:[<> ] )? *((?:(?:\.|-?[0-9,]+)(?: *\([^)]*\))? +){` + strconv.Itoa(events) + `})(.*)$`)
	percent  = regexp.MustCompile(`\([^)]*\)`)
	heading  = regexp.MustCompile(`^-- (?:Auto-annotated source|Annotated source file): (.*)$`)
)

// annotated reads the report of cg_annotate or of ours.
func annotated(t *testing.T, report string) annotation {
	t.Helper()
	a := annotation{countsOf{}, map[string][]string{}}
	section, file := "", ""
	for line := range strings.Lines(report) {
		line = strings.TrimSuffix(line, "\n")
		row := countRow.FindStringSubmatch(line)
		switch h := heading.FindStringSubmatch(line); {
		case h != nil:
			section = h[1]
		case row == nil:
			if strings.HasSuffix(line, "file:function") || line == "-- File:function summary" {
				section = "functions"
			} else if strings.HasPrefix(line, "-- ") && !strings.HasPrefix(line, "-- line ") {
				section = ""
			}
		case row[2] == "events annotated": // cg_annotate's last line
		case section == "functions":
			a.function(t, line, row, &file)
		case section != "":
			counts := strings.Join(strings.Fields(percent.ReplaceAllString(row[1], "")), " ")
			text := strings.TrimSpace(row[2])
			if strings.HasPrefix(text, "<counts for unidentified lines in ") {
				text = "<unknown (line 0)>" // in the words of 3.22 and later
			}
			a.files[section] = append(a.files[section], counts+" "+text)
		}
	}
	a.functions.dropZero()
	return a
}

// function reads a row of the table of functions. Ours puts those of a file below a row of the file.
func (a annotation) function(t *testing.T, line string, row []string, file *string) {
	name := strings.TrimSpace(row[2])
	if strings.HasPrefix(line, "< ") {
		if f, ok := strings.CutSuffix(name, ":"); ok {
			*file = f
			return
		}
	} else if strings.HasPrefix(line, "  ") && *file != "" {
		name = *file + ":" + name
	}
	counts := make([]int64, events)
	for i, field := range strings.Fields(percent.ReplaceAllString(row[1], "")) {
		n, err := strconv.ParseInt(strings.ReplaceAll(field, ",", ""), 10, 64)
		require.NoError(t, err)
		counts[i] = n
	}
	a.functions[name] = counts
}
