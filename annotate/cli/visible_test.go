package cli

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

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

// TestEscapes has names with escape sequences where a terminal may see them.
func TestEscapes(t *testing.T) {
	var stderr, shown bytes.Buffer
	require.Equal(t, 1, Annotate("x", []string{"no\x1b[2Jfile"}, &bytes.Buffer{}, &stderr))
	require.NotContains(t, stderr.String(), "\x1b")
	for _, terminal := range []bool{true, false} {
		o := options{onTerminal: terminal}
		_, err := o.data(&shown).Write([]byte("\x1b[2J"))
		require.NoError(t, err)
		require.Equal(t, !terminal, bytes.Contains(shown.Bytes(), []byte("\x1b")))
	}
}
