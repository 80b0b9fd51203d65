//go:build unix

package cli

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/internal/browsertest"
)

// TestMain makes this binary the commands, for cases need a working directory of
// their own.
func TestMain(m *testing.M) {
	commands := map[string]func(name string, args []string, stdout, stderr *os.File) int{
		"annotate": func(n string, a []string, o, e *os.File) int { return Annotate(n, a, o, e) },
		"diff":     func(n string, a []string, o, e *os.File) int { return Diff(n, a, o, e) },
		"merge":    func(n string, a []string, o, e *os.File) int { return Merge(n, a, o, e) },
	}
	if f := commands[os.Getenv("ANNOTATE_TEST_COMMAND")]; f != nil {
		os.Exit(f("@TOOL@", os.Args[1:], os.Stdout, os.Stderr))
	}
	testscript.Main(browsertest.Suite{M: m}, map[string]func(){"cgemu": func() { os.Exit(cgemu(os.Args)) }})
}

// cgemu is as much of the command as the scripts need.
func cgemu(argv []string) int {
	tools := map[string]func(string, []string, io.Writer, io.Writer) int{"annotate": Annotate, "callers": Callers, "diff": Diff, "merge": Merge, "export": Export}
	return tools[argv[1]]("cgemu "+argv[1], argv[2:], os.Stdout, os.Stderr)
}

var update = flag.Bool("update", false, "rewrite what testdata/script/*.txtar compare with from this run")

// TestScripts runs testdata/script: the tools as their users see them.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", UpdateScripts: *update})
}

// TestGolden runs the cases that were recorded with the originals (Valgrind
// 3.28.0.GIT, Python 3.11.7). A case is an archive: a note, `args` as a shell
// reads them, `tool` and `mode`, `mtimes`, `gen.sh` to make large inputs,
// `expected.*`, and inputs. A file whose name ends in .quoted holds one quoted
// string; a name with blanks at its ends is quoted.
//
// Modes: full (when absent) compares everything; exit the status, and whether
// there is output; free, where the original crashed, demands a status from 0 to 2
// and no panic.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/golden/*.txtar")
	require.NoError(t, err)
	require.Greater(t, len(files), 250)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			runGolden(t, file)
		})
	}
}

// A golden is a case, unpacked.
type golden struct {
	dir  string
	meta map[string]string
}

var metaFiles = regexp.MustCompile(`^(args|tool|mode|mtimes|gen\.sh|expected\..*)$`)

func unpack(t *testing.T, file string) *golden {
	archive, err := txtar.ParseFile(file)
	require.NoError(t, err)
	g := &golden{dir: t.TempDir(), meta: map[string]string{}}
	for _, f := range archive.Files {
		name, data := f.Name, string(f.Data)
		if n, ok := strings.CutSuffix(name, ".quoted"); ok {
			name = n
			data, err = strconv.Unquote(strings.TrimSuffix(data, "\n"))
			require.NoError(t, err)
		}
		if strings.HasPrefix(name, `"`) {
			name, err = strconv.Unquote(name)
			require.NoError(t, err)
		}
		if metaFiles.MatchString(name) {
			g.meta[name] = data
			continue
		}
		path := filepath.Join(g.dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
		require.NoError(t, os.WriteFile(path, []byte(data), 0o666))
	}
	if script := g.meta["gen.sh"]; script != "" {
		cmd := exec.Command("sh", "-c", script)
		cmd.Dir = g.dir
		require.NoError(t, cmd.Run())
	}
	g.setTimes(t)
	return g
}

// setTimes makes all files as old as each other, but for those in `mtimes`.
func (g *golden) setTimes(t *testing.T) {
	old := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	require.NoError(t, filepath.WalkDir(g.dir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil {
			// Not a link to itself, for one.
			if _, err := os.Stat(path); err == nil {
				return os.Chtimes(path, old, old)
			}
		}
		return err
	}))
	for line := range strings.Lines(g.meta["mtimes"]) {
		at, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		seconds, fraction, _ := strings.Cut(at, ".")
		s, err := strconv.ParseInt(seconds, 10, 64)
		require.NoError(t, err)
		ns, err := strconv.ParseInt((fraction + "000000000")[:9], 10, 64)
		require.NoError(t, err)
		require.NoError(t, os.Chtimes(filepath.Join(g.dir, name), time.Unix(s, ns), time.Unix(s, ns)))
	}
}

// words splits a command line: blanks, single and double quotes, backslashes.
func words(line string) (list []string) {
	var word strings.Builder
	inWord := false
	quote := byte(0)
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == '\'':
			word.WriteByte(c)
		case c == '\\' && i+1 < len(line) && (quote == 0 || strings.IndexByte("\"\\$`", line[i+1]) >= 0):
			i++
			word.WriteByte(line[i])
			inWord = true
		case quote != 0:
			word.WriteByte(c)
		case c == '\'' || c == '"':
			quote, inWord = c, true
		case c == ' ' || c == '\n' || c == '\t':
			if inWord {
				list = append(list, word.String())
			}
			word.Reset()
			inWord = false
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	if inWord {
		list = append(list, word.String())
	}
	return list
}

func runGolden(t *testing.T, file string) {
	g := unpack(t, file)
	tool := "annotate"
	if g.meta["tool"] != "" {
		tool = strings.TrimSpace(g.meta["tool"])
	}
	cmd := exec.Command(os.Args[0], words(g.meta["args"])...)
	cmd.Dir = g.dir
	cmd.Env = append(os.Environ(), "ANNOTATE_TEST_COMMAND="+tool)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	require.True(t, err == nil || errors.As(err, &exit), err)
	status := cmd.ProcessState.ExitCode()

	wantStatus, err := strconv.Atoi(strings.TrimSpace(g.meta["expected.exit"]))
	require.NoError(t, err)
	switch strings.TrimSpace(g.meta["mode"]) {
	case "":
		require.Equal(t, g.meta["expected.stdout"], stdout.String())
		require.Equal(t, g.meta["expected.stderr"], dropUsage(stderr.String()))
		require.Equal(t, wantStatus, status)
	case "exit":
		require.Equal(t, wantStatus, status)
		require.Equal(t, g.meta["expected.stdout"] != "", stdout.Len() > 0, "stdout")
		require.Equal(t, g.meta["expected.stderr"] != "", stderr.Len() > 0, "stderr")
	case "free":
		require.Contains(t, []int{0, 1, 2}, status)
		require.NotContains(t, stderr.String(), "goroutine ")
		if status != 0 {
			require.Contains(t, stderr.String(), "@TOOL@: error: ")
		}
	default:
		t.Fatalf("unknown mode %q", g.meta["mode"])
	}
	for name, want := range g.meta {
		if path, ok := strings.CutPrefix(name, "expected.files/"); ok {
			got, err := os.ReadFile(filepath.Join(g.dir, path))
			require.NoError(t, err)
			require.Equal(t, want, string(got), path)
		}
	}
}

// dropUsage removes the usage text before an error, which is our own.
func dropUsage(text string) string {
	if i := strings.Index(text, "@TOOL@: error: "); i > 0 && strings.HasPrefix(text, "usage: ") {
		return text[i:]
	}
	return text
}

// What the commands say of mistakes that the originals do not survive.
func TestErrors(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "p")
	require.NoError(t, os.WriteFile(path, []byte("cmd: x\nevents: Ir\nfl=a\nfn=f\n1 1\nsummary: 1\n"), 0o666))
	empty := filepath.Join(dir, "empty")
	require.NoError(t, os.WriteFile(empty, []byte("cmd: x\nevents:\nsummary:\n"), 0o666))
	for _, tt := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"--mod-filename=s/(/x/", path}, 2, "argument --mod-filename: invalid regular expression '(': missing )"},
		{[]string{"--mod-funcname=s/a/\\1/", path}, 2, `argument --mod-funcname: invalid replacement '\\1': invalid group reference 1`},
		{[]string{empty}, 1, empty + ":2: no events"},
	} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, tt.status, Annotate("x", tt.args, &stdout, &stderr), tt.args)
		require.Contains(t, stderr.String(), "x: error: "+tt.want)
		require.Empty(t, stdout.String())
	}
}

type fullWriter struct{}

func (fullWriter) Write([]byte) (int, error) { return 0, fmt.Errorf("disk full") }

func TestOutputFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p")
	require.NoError(t, os.WriteFile(path, []byte("cmd: x\nevents: Ir\nfl=a\nfn=f\n1 1\nsummary: 1\n"), 0o666))
	for _, f := range []func() (int, string){
		func() (int, string) {
			var b bytes.Buffer
			n := Annotate("x", []string{path}, fullWriter{}, &b)
			return n, b.String()
		},
		func() (int, string) {
			var b bytes.Buffer
			n := Diff("x", []string{path, path}, fullWriter{}, &b)
			return n, b.String()
		},
		func() (int, string) {
			var b bytes.Buffer
			n := Merge("x", []string{path}, fullWriter{}, &b)
			return n, b.String()
		},
	} {
		status, text := f()
		require.Equal(t, 1, status)
		require.Equal(t, "x: error: cannot write: disk full\n", text)
	}
}
