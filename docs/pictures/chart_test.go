package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseResults(t *testing.T) {
	r, err := parseResults("cpu: Some CPU\nBenchmarkProgram/prog=a/tool=cgemu-ir-2  3  12 ns/op  5.5 cpu-ms  7 rss-MiB\nBenchmarkProgram/prog=a/tool=cgemu-ir-2  3  12 ns/op  5.25 cpu-ms\nPASS\n")
	require.NoError(t, err)
	require.Equal(t, &results{programs: []string{"a"}, cpu: map[string]map[string]float64{"a": {"cgemu-ir": 5.25}}, machine: "Some CPU"}, r)
	for _, text := range []string{"", "BenchmarkProgram/prog=a 1 x cpu-ms", "BenchmarkProgram/prog=a/tool=b-2 1 x cpu-ms", "BenchmarkProgram/prog=a/tool=b-2 1 0 cpu-ms"} {
		_, err := drawChart(text)
		require.Error(t, err, text)
	}
}

func TestShort(t *testing.T) {
	require.Equal(t, []string{"1.0", "2.5", "9.9", "10", "123"}, []string{short(1), short(2.45001), short(9.94), short(9.96), short(123.4)})
	require.Equal(t, []int{0, 0, 207, plot}, []int{length(0.5), length(1), length(10), length(5000)})
}
