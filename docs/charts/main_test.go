package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCharts has the charts be those of their results.
func TestCharts(t *testing.T) {
	names, err := filepath.Glob("*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		want, err := draw(string(text))
		require.NoError(t, err, name)
		got, err := os.ReadFile(strings.TrimSuffix(name, ".txt") + ".svg")
		require.NoError(t, err)
		require.Equal(t, want, string(got), "%s: go generate ./docs/charts makes the charts anew", name)
	}
}

func TestParse(t *testing.T) {
	r, err := parse("cpu: Some CPU\nBenchmarkProgram/prog=a/tool=cgemu-ir-2  3  12 ns/op  5.5 cpu-ms  7 rss-MiB\nBenchmarkProgram/prog=a/tool=cgemu-ir-2  3  12 ns/op  5.25 cpu-ms\nPASS\n")
	require.NoError(t, err)
	require.Equal(t, &results{programs: []string{"a"}, cpu: map[string]map[string]float64{"a": {"cgemu-ir": 5.25}}, machine: "Some CPU"}, r)
	for _, text := range []string{"", "BenchmarkProgram/prog=a 1 x cpu-ms", "BenchmarkProgram/prog=a/tool=b-2 1 x cpu-ms", "BenchmarkProgram/prog=a/tool=b-2 1 0 cpu-ms"} {
		_, err := draw(text)
		require.Error(t, err, text)
	}
}

func TestShort(t *testing.T) {
	require.Equal(t, []string{"1.0", "2.5", "9.9", "10", "123"}, []string{short(1), short(2.45001), short(9.94), short(9.96), short(123.4)})
	require.Equal(t, []int{0, 0, 207, plot}, []int{length(0.5), length(1), length(10), length(5000)})
}
