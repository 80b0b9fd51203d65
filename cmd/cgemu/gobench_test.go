package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// filtered returns what the filter makes of what is written, in pieces.
func filtered(t testing.TB, pieces ...string) string {
	var out bytes.Buffer
	l := &benchLines{to: &out}
	for _, p := range pieces {
		n, err := l.Write([]byte(p))
		require.NoError(t, err)
		require.Equal(t, len(p), n)
		require.LessOrEqual(t, len(l.line), longestResult+2*len(p)+len(benchMark))
	}
	require.NoError(t, l.flush())
	return out.String()
}

const units = "Unit Ir/op better=lower assume=exact\nUnit B/op assume=exact\nUnit allocs/op assume=exact\n"

// TestBenchLines has results of benchmarks, and what looks like them.
func TestBenchLines(t *testing.T) {
	mark := string(benchMark)
	counts := mark + " Ir 12345\n"
	for name, tt := range map[string]struct{ in, want string }{
		"a result": {
			"BenchmarkX-2 \t" + counts + "    100\t   12.3 ns/op\n", units + "BenchmarkX-2 \t    100\t   123.450 Ir/op\n",
		},
		"in one line": {counts + "BenchmarkX\t    100\t   12.3 ns/op\n", units + "BenchmarkX\t    100\t   123.450 Ir/op\n"},
		"the last counts": {
			mark + " Ir 1\n" + mark + " Ir 2\n" + counts + "BenchmarkX\t    5\t   12.3 ns/op\n", units + "BenchmarkX\t    5\t      2469 Ir/op\n",
		},
		"measurements": {
			counts + "BenchmarkX\t100\t 12.3 ns/op\t 4.5 MB/s\t 3.5 things/op\t 16 B/op\t 1 allocs/op\n",
			units + "BenchmarkX\t100\t   123.450 Ir/op\t 3.5 things/op\t 16 B/op\t 1 allocs/op\n",
		},
		"no time":   {counts + "BenchmarkX\t100\t 3.5 things/op\n", units + "BenchmarkX\t100\t   123.450 Ir/op\t 3.5 things/op\n"},
		"no counts": {"BenchmarkX\t100\t 1 ns/op\t 3.5 things/op\n", "BenchmarkX\t100\t 3.5 things/op\n"},
		"used once": {
			counts + "BenchmarkX\t5\t 1 ns/op\nBenchmarkY\t5\t 1 ns/op\t 2 B/op\n", units + "BenchmarkX\t5\t      2469 Ir/op\nBenchmarkY\t5\t 2 B/op\n",
		},
		"other lines": {
			"BenchmarkX\n\nBenchmarkX\tlogs\t2 ns/op\nBenchmarkX\t0\t2 ns/op\nX\t1\t2 ns/op\nno end",
			"BenchmarkX\n\nBenchmarkX\tlogs\t2 ns/op\nBenchmarkX\t0\t2 ns/op\nX\t1\t2 ns/op\nno end",
		},
		"events": {
			mark + " Ir 10 D1mr 1\nBenchmarkX\t3\t1 ns/op\n",
			strings.Replace(units, "Unit B", "Unit D1mr/op better=lower assume=exact\nUnit B", 1) + "BenchmarkX\t3\t   3.33333 Ir/op\t  0.333333 D1mr/op\n",
		},
		"long lines": {
			strings.Repeat("x", longestResult) + counts + strings.Repeat("y\x00", longestResult) + counts + "\nBenchmarkX\t5\t1 ns/op\n",
			strings.Repeat("x", longestResult) + strings.Repeat("y\x00", longestResult) + "\n" + units + "BenchmarkX\t5\t      2469 Ir/op\n",
		},
		"a long line like a result": {
			"BenchmarkX\t5\t" + strings.Repeat("x", longestResult) + "\t1 ns/op\n", "BenchmarkX\t5\t" + strings.Repeat("x", longestResult) + "\t1 ns/op\n",
		},
	} {
		require.True(t, tt.want == filtered(t, tt.in), "%s: %.300q", name, filtered(t, tt.in))
		if len(tt.in) < 1000 {
			require.Equal(t, tt.want, filtered(t, strings.Split(tt.in, "")...), name)
			continue
		}
		var pieces []string
		for rest := tt.in; rest != ""; rest = rest[min(len(rest), 1021):] {
			pieces = append(pieces, rest[:min(len(rest), 1021)])
		}
		require.True(t, tt.want == filtered(t, pieces...), name)
	}
}

func TestPerOperation(t *testing.T) {
	for _, tt := range []struct {
		total, n uint64
		want     string
	}{
		{0, 7, "         0"}, {10, 5, "         2"}, {1, 3, "  0.333333"}, {10, 3, "   3.33333"}, {100, 3, "   33.3333"},
		{1_000_000, 3, "    333333"}, {999_999_999, 7, " 142857143"}, {30_000_000_000, 2, "15000000000"},
	} {
		require.Equal(t, tt.want, perOperation(tt.total, tt.n))
	}
}

// FuzzBenchLines has the filter pass on the same whatever the pieces are in which it gets it.
func FuzzBenchLines(f *testing.F) {
	f.Add("BenchmarkX \t"+string(benchMark)+" Ir 12\n 3\t 4 ns/op\nPASS\n", uint8(3))
	f.Add(string(benchMark)+" Ir\n"+string(benchMark)+"\n\x00\x00cgemu", uint8(1))
	f.Fuzz(func(t *testing.T, in string, size uint8) {
		var pieces []string
		for rest := in; rest != ""; rest = rest[min(len(rest), int(size)+1):] {
			pieces = append(pieces, rest[:min(len(rest), int(size)+1)])
		}
		require.Equal(t, filtered(t, in), filtered(t, pieces...))
	})
}

func TestQuoteForGo(t *testing.T) {
	for word, want := range map[string]string{"a": "a", "": "''", "a b": "'a b'", "it's": `"it's"`, `a"b`: `'a"b'`} {
		got, err := quoteForGo(word)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err := quoteForGo(`'"`)
	require.EqualError(t, err, `'": go test -exec takes no word with both kinds of quotes`)
}
