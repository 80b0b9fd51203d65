package annotate

import (
	"bufio"
	"bytes"
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
		require.Equal(t, want, visible(text), "%q", text)
	}
}

// TestVisibleData writes in all pieces.
func TestVisibleData(t *testing.T) {
	const text = "fn=\x1b[2J\nfl=ü😀\u009b\n"
	for n := range len(text) {
		var out bytes.Buffer
		w := &visibleWriter{w: &out}
		for _, part := range []string{text[:n], text[n:]} {
			_, err := w.Write([]byte(part))
			require.NoError(t, err)
		}
		require.Equal(t, "fn=\\x1b[2J\nfl=ü😀\\u009b\n", out.String())
	}
}

// TestEscapes shows names with escape sequences, to a terminal and to a file.
func TestEscapes(t *testing.T) {
	dir := t.TempDir()
	source, profile := filepath.Join(dir, "s\x1b[3m.c"), filepath.Join(dir, "p\x1b[4m")
	require.NoError(t, os.WriteFile(source, []byte("line\x1b[5m\n"), 0o600))
	text := "desc: d\x1b[6m\ncmd: c\x1b[7m\nevents: E\x1b[8m\nfl=" + source + "\nfn=f\x1b[9m\n1 1\nsummary: 1\n"
	require.NoError(t, os.WriteFile(profile, []byte(text), 0o600))
	require.NoError(t, os.WriteFile(profile+".insns", []byte("insns: 1\nevents: E\x1b[8m\nob=o\x1b[1m\nfl="+source+"\nfn=f\x1b[9m\n1 1 90 1 nop\x1b[2m\n"), 0o600))
	for _, format := range []string{"", "markdown", "csv", "asm", "diff"} {
		for _, terminal := range []bool{true, false} {
			o := newOptions("x", nil, &bytes.Buffer{})
			o.onTerminal, o.files, o.format, o.threshold = terminal, []string{profile}, format, 0
			var shown bytes.Buffer
			out := bufio.NewWriter(o.data(&shown))
			switch format {
			case "":
				out.Reset(&shown)
				require.NoError(t, o.run(out, "", &bytes.Buffer{}))
			case "diff":
				o.format, o.diff, o.asTable, o.files = "", true, true, []string{profile, profile}
				out.Reset(&shown)
				require.NoError(t, o.render(toolDiff, out))
			default:
				require.NoError(t, o.run(out, "", &bytes.Buffer{}))
			}
			require.NoError(t, out.Flush())
			require.NotZero(t, shown.Len())
			if terminal {
				require.NotContains(t, shown.String(), "\x1b", format)
			} else if format != "markdown" {
				require.Contains(t, shown.String(), "\x1b", format)
			}
		}
	}
	var stderr bytes.Buffer
	require.Equal(t, 1, Annotate("x", []string{"no\x1b[2Jfile"}, &bytes.Buffer{}, &stderr))
	require.NotContains(t, stderr.String(), "\x1b")
}
