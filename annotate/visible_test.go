package annotate

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVisible(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "main.c:f(int)": "main.c:f(int)", "a\tb\fc": "a\tb\fc", "ü😀\u2028": "ü😀\u2028",
		"\x1b[2J": `\x1b[2J`, "a\x07\x08\x7fb": `a\x07\x08\x7fb`, "\x00": `\x00`, "\n": `\x0a`,
		"\u009b2J": `\u009b2J`, "\x9b2J": `\x9b2J`, "latin \xfc": "latin \xfc", "\ufffd": "\ufffd", "\xe2\x82": "\xe2" + `\x82`,
	} {
		require.Equal(t, want, Visible(text), "%q", text)
	}
}

// TestEscapes shows names with escape sequences, to a terminal and to a file.
func TestEscapes(t *testing.T) {
	dir := t.TempDir()
	source, profile := filepath.Join(dir, "s\x1b[3m.c"), filepath.Join(dir, "p\x1b[4m")
	require.NoError(t, os.WriteFile(source, []byte("line\x1b[5m\n"), 0o600))
	text := "desc: d\x1b[6m\ncmd: c\x1b[7m\nevents: E\x1b[8m\nfl=" + source + "\nfn=f\x1b[9m\n1 1\nsummary: 1\n"
	require.NoError(t, os.WriteFile(profile, []byte(text), 0o600))
	require.NoError(t, os.WriteFile(profile+".insns", []byte("insns: 2\ncounts: E\x1b[8m\nob=o\x1b[1m\nfl="+source+"\nfn=f\x1b[9m\n1 1 90 1 nop\x1b[2m\n"), 0o600))
	graph := filepath.Join(dir, "g\x1b[4m")
	text = "# callgrind format\ncmd: c\x1b[7m\nevents: E\x1b[8m\nob=o\x1b[1m\nfl=" + source + "\nfn=f\x1b[9m\n1 1\ncob=p\x1b[1m\ncfi=h\x1b[9m\ncfn=g\x1b[9m\ncalls=1 1\n1 1\ncfn=f\x1b[9m\ncalls=1 1\n1 1\n2 1\n"
	require.NoError(t, os.WriteFile(graph, []byte(text), 0o600))
	for _, terminal := range []bool{true, false} {
		o := Defaults()
		o.Visible, o.MinDelta, o.Invocation = terminal, &MinDelta{}, "x\x1b[m"
		r, err := New(o, File(profile))
		require.NoError(t, err)
		c, err := Compare(o, File(profile), File(profile))
		require.NoError(t, err)
		o.Inclusive, o.Tree, o.Threshold = true, TreeBoth, 0
		calls, err := NewCalls(o, File(graph))
		require.NoError(t, err)
		difference, err := CompareCalls(o, File(graph), File(graph))
		require.NoError(t, err)
		withCalls := o
		o.Inclusive, o.Tree = false, TreeNone
		for name, write := range map[string]func(io.Writer) error{
			"calls": func(w io.Writer) error { return WriteText(w, withCalls, File(graph)) }, "tree": difference.WriteTree,
			"callers": func(w io.Writer) error { return calls.WriteCallers(w, "*") },
			"text":    func(w io.Writer) error { return WriteText(w, o, File(profile)) }, "asm": r.WriteAsm,
			"markdown": r.WriteMarkdown, "table": c.WriteTable,
		} {
			var shown bytes.Buffer
			require.NoError(t, write(&shown), name)
			require.NotZero(t, shown.Len())
			if terminal {
				require.NotContains(t, shown.String(), "\x1b", name)
			} else if name != "markdown" {
				require.Contains(t, shown.String(), "\x1b", name)
			}
		}
	}
}
