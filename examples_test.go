//go:build linux && amd64

package cgemu_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/check"
)

// planted are changes that make the examples slower by some per cent, and the function and the file where a report has
// to see it.
var planted = []struct{ dir, file, old, new, fn string }{
	{"c", "words.c", "\t\th = (h ^", "\t\th ^= h >> 15, h = (h ^", "hash"},
	{"cpp", "route.cpp", "uint32_t total = cost + enter(next);", "uint32_t total = cost + enter(next) + (cost * 7 + next) / 4294967295u;", "Grid::shortest"},
	{"rust", "tokens.rs", "                    i += 1;\n", "                    i += 1;\n                    if n < 0 {\n                        break;\n                    }\n", "tokens::tokens"},
	{"go", "lru.go", "\tif e := c.entries[word]; e != nil {", "\tfor i := range word {\n\t\tif i > c.size {\n\t\t\treturn 0\n\t\t}\n\t}\n\tif e := c.entries[word]; e != nil {", "main.(*Cache).Use"},
	{"python", "wrap.py", "    length = sum(lengths[i:j]) + (j - i - 1)\n", "    length = sum(lengths[i:j]) + (j - i - 1)\n    length = length + 0 * (i + j)\n", ""},
}

// TestExamples takes each example as its reader would: its baseline is written; a clone elsewhere counts the same; and
// a function that has become slower is found and named.
func TestExamples(t *testing.T) {
	if !oracles {
		t.Skip("with the tag oracles")
	}
	for _, p := range planted {
		t.Run(p.dir, func(t *testing.T) {
			dir := copyExample(t, p.dir, filepath.Join(t.TempDir(), "a"))
			_, old := runExample(t, dir, nil)
			t.Setenv("SOMETHING_ELSE", strings.Repeat("x", 1000))
			other := copyExample(t, p.dir, filepath.Join(t.TempDir(), "another-directory-with-a-longer-name"))
			for _, file := range []string{"words", "route", "tokens", "lru"} { // as built: compilers write where they are into debug information
				if text, err := os.ReadFile(filepath.Join(dir, file)); err == nil {
					require.NoError(t, os.WriteFile(filepath.Join(other, file), text, 0o755))
				}
			}
			report, _ := compareExample(t, other, old)
			for _, r := range report.Results {
				require.Equal(t, check.Same, r.Verdict, "%s", r.Name)
				require.Empty(t, r.Differs)
			}

			source := filepath.Join(dir, p.file)
			text, err := os.ReadFile(source)
			require.NoError(t, err)
			require.Contains(t, string(text), p.old)
			require.NoError(t, os.WriteFile(source, []byte(strings.Replace(string(text), p.old, p.new, 1)), 0o644))
			report, _ = runExample(t, dir, old)
			var out strings.Builder
			require.NoError(t, report.WriteText(&out))
			require.True(t, report.Regressed(), out.String())
			t.Log(out.String())
			if p.fn == "" {
				return // Python's functions are the interpreter's data
			}
			whole := report.Results[0]
			require.Contains(t, whole.Functions[0].Func, p.fn)
			require.Equal(t, p.file, whole.Functions[0].File)
			require.Contains(t, out.String(), p.file+":", "the lines of the function")
		})
	}
}

// copyExample copies what is checked in of an example.
func copyExample(t *testing.T, name, to string) string {
	require.NoError(t, os.MkdirAll(to, 0o755))
	files, err := filepath.Glob(filepath.Join("examples", name, "*.*"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, f := range files {
		text, err := os.ReadFile(f)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(to, filepath.Base(f)), text, 0o644))
	}
	return to
}

// runExample builds an example, and compares it.
func runExample(t *testing.T, dir string, old check.Baseline) (*check.Report, check.Baseline) {
	m, err := check.Load(filepath.Join(dir, check.ManifestName))
	require.NoError(t, err)
	if len(m.Build) > 0 {
		require.NoError(t, m.RunBuild(t.Context(), os.Stderr))
	}
	return compareExample(t, dir, old)
}

// compareExample runs an example's benchmarks, and returns how they compare, and what they count.
func compareExample(t *testing.T, dir string, old check.Baseline) (*check.Report, check.Baseline) {
	m, err := check.Load(filepath.Join(dir, check.ManifestName))
	require.NoError(t, err)
	report, counts := &check.Report{}, check.Baseline{}
	for i := range m.Benchmarks {
		b := &m.Benchmarks[i]
		now, err := m.Run(context.Background(), b)
		require.NoError(t, err)
		counts[b.Name] = now.Counts
		report.Results = append(report.Results, check.Compare(b, old[b.Name], now))
	}
	return report, counts
}
