package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPictures has the pictures be those of their texts, and every file that they name be there.
func TestPictures(t *testing.T) {
	names, err := filepath.Glob("*.[tb]*")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		ext := filepath.Ext(name)
		want, err := draws[ext](string(text))
		require.NoError(t, err, name)
		got, err := os.ReadFile(strings.TrimSuffix(name, ext) + ".svg")
		require.NoError(t, err)
		require.Equal(t, want, string(got), "%s: go generate ./docs/pictures makes the pictures anew", name)
		if ext != ".txt" {
			continue
		}
		_, steps, err := parse(string(text))
		require.NoError(t, err)
		for _, s := range steps {
			if s.lane == "" {
				continue
			}
			for file := range strings.SplitSeq(s.file, ", ") {
				require.FileExists(t, filepath.Join("../..", strings.TrimPrefix(s.lane, "cgemu"), file), "%s: %s", name, s.file)
			}
		}
	}
}

func TestParse(t *testing.T) {
	for _, text := range []string{"title\nno step", "title\na | b"} {
		_, err := draw(text)
		require.ErrorContains(t, err, "line 2: not a lane")
	}
}
