package check

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTables has every key that a manifest may have be described, and no other; the manual names it, too.
func TestTables(t *testing.T) {
	var names [][]string
	_, manual, _ := strings.Cut(readManual(t), "\n## Benchmarks in CI: check\n")
	manual, _, _ = strings.Cut(manual, "\n## ")
	for _, table := range Tables {
		var list []string
		for _, k := range table.Keys {
			require.NotEmpty(t, k.Text, k.Name)
			require.Regexp(t, regexp.MustCompile("[`\\[. ]"+regexp.QuoteMeta(k.Name)+"\\b|(?m)^    "+regexp.QuoteMeta(k.Name)+" = "), manual)
			list = append(list, k.Name)
		}
		names = append(names, list)
	}
	require.Len(t, names, 4)
	require.ElementsMatch(t, keys[Manifest](), names[0])
	require.ElementsMatch(t, keys[Benchmark](), append(names[1], names[2]...))
	require.ElementsMatch(t, keys[Settings](), names[2])
	require.ElementsMatch(t, keys[FunctionLimit](), names[3])
}

func readManual(t *testing.T) string {
	text, err := os.ReadFile("../docs/manual.md")
	require.NoError(t, err)
	return string(text)
}

// TestMinimal has the least manifest be one.
func TestMinimal(t *testing.T) {
	m, err := Parse([]byte(Minimal))
	require.NoError(t, err)
	require.Len(t, m.Benchmarks, 1)
}
