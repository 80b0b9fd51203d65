package cgout

import (
	"bytes"
	"errors"
	"io"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestExpand(t *testing.T) {
	n := Namer{Getenv: func(name string) (string, bool) {
		v, ok := map[string]string{"A": "%p", "E": "", "": "nameless"}[name]
		return v, ok
	}}
	for _, tt := range []struct {
		format string
		pid    int
		want   string
	}{
		{"cachegrind.out.%p", 7, "cachegrind.out.7"},
		{"%%p%p%%", 7, "%p7%"},
		{"x%q{A}y%q{E}z%q{}", 7, "x%pyznameless"},
		{"a%n%n", 7, "a12"},
		{"a%n", 7, "a3"},
		{"a%n", 8, "a1"},
		{"a%n", 7, "a1"},
		{"plain", 7, "plain"},
		{"a~", 7, "a~"},
	} {
		got, err := n.Expand(tt.format, tt.pid)
		require.NoError(t, err)
		require.Equal(t, tt.want, got, "%s", tt.format)
	}
	for _, tt := range []struct{ format, want string }{
		{"", "No filename given"},
		{"~/x", "Filename begins with '~'\nYou probably expected"},
		{"a%", "Expected 'p', 'n', 'q{NAME}' or '%' after '%'"},
		{"a%x", "Expected 'p', 'n', 'q{NAME}' or '%' after '%'"},
		{"a%q", "Expected '{' after '%q'"},
		{"a%qA", "Expected '{' after '%q'"},
		{"a%q{A", "Missing '}' in %q specifier"},
		{"a%q{B}", "Environment variable 'B' is not set"},
	} {
		_, err := n.Expand(tt.format, 1)
		require.ErrorContains(t, err, tt.want, "%s", tt.format)
	}
	_, err := new(Namer).Expand("a%q{A}", 1)
	require.EqualError(t, err, "Environment variable 'A' is not set")
}

func TestWriteTotals(t *testing.T) {
	// A run of ls under Cachegrind 3.19.
	p := New(allEvents...)
	p.Add("f", "g", 1, 11465641, 51173, 2822, 2735798, 20925, 2920, 1640992, 9623, 7647,
		1775492, 75670, 154927, 12651)
	var b bytes.Buffer
	require.NoError(t, p.WriteTotals(&b, "==1== "))
	golden(t, "totals.all", b.Bytes())

	// Nothing happened at all.
	b.Reset()
	require.NoError(t, New(allEvents...).WriteTotals(&b, "==1== "))
	golden(t, "totals.zero", b.Bytes())

	p = New("Ir")
	p.Add("f", "g", 1, 1234)
	b.Reset()
	require.NoError(t, p.WriteTotals(&b, "==1== "))
	require.Equal(t, "==1== I refs:        1,234\n", b.String())

	p = New("Ir", "Bc", "Bcm", "Bi", "Bim")
	p.Add("f", "g", 1, 1000, 100, 7)
	b.Reset()
	require.NoError(t, p.WriteTotals(&b, ""))
	require.Equal(t, "I refs:        1,000\n\n"+
		"Branches:        100  (100 cond + 0 ind)\n"+
		"Mispredicts:       7  (  7 cond + 0 ind)\n"+
		"Mispred rate:    7.0% (7.0%     + 0.0%   )\n", b.String())
}

func TestRate(t *testing.T) {
	for _, tt := range []struct {
		part, whole uint64
		decimals    int
		want        string
	}{
		{1, 8, 2, "12.50"},
		{1, 16, 1, "6.2"}, // 6.25: a half is not rounded up
		{3, 16, 1, "18.7"},
		{1, 3, 2, "33.33"},
		{2, 3, 2, "66.67"},
		{9999, 10000, 1, "100.0"},
		{0, 1, 2, "0.00"},
		{5, 1, 1, "500.0"},
	} {
		require.Equal(t, tt.want, rate(tt.part, tt.whole, tt.decimals), "%d/%d", tt.part, tt.whole)
	}
}

func TestMerger(t *testing.T) {
	var m Merger
	require.NoError(t, m.Add("a", strings.NewReader("desc: d\ncmd: c\nevents: A B\n"+
		"7 1\nfl=z\n3 1\nfn=f\n02 9223372036854775807 -5\nfl=y\nfn=f\n1 1 1\nsummary: 1 2\n")))
	require.NoError(t, m.Add("b", strings.NewReader("cmd: other\nevents: A B\n"+
		"fl=z\nfn=f\n2 1 +1\n1 0 0\nsummary: 10\n")))
	var b bytes.Buffer
	require.NoError(t, m.Write(&b))
	require.Equal(t, "desc: d\ncmd: c\nevents: A B\nfl=\nfn=\n7 1 0\nfl=z\nfn=???\n3 1 0\nfn=f\n"+
		"2 9223372036854775808 -4\n1 0 0\nfl=y\nfn=f\n1 1 1\nsummary: 11 2\n", b.String())

	require.ErrorIs(t, m.Add("c", strings.NewReader("cmd: x\nevents: A\nsummary: 1\n")), ErrEvents)
}

// TestRefusedProfile has profiles that are refused half read: nothing of them is written.
func TestRefusedProfile(t *testing.T) {
	const good = "cmd: x\nevents: A\nfl=f\nfn=f\n1 5\nsummary: 5\n"
	for _, tt := range []struct{ bad, err string }{
		{"cmd: x\nevents: A\nfl=f\nfn=f\n1 100\n2 xyz\nsummary: 5\n", "bad:6: malformed or too many event counts"},
		{"cmd: x\nevents: A\nfl=f\nfn=f\n1 100\n", "bad:6: missing `summary:` line, aborting"},
		{"cmd: x\nevents: B\nsummary: 0\n", ErrEvents.Error()},
		{"x", "bad:1: missing a `command:` line: this is no profile; cgemu PROGRAM writes one, which is called cachegrind.out.1000"},
	} {
		var m Merger
		require.NoError(t, m.Add("good", strings.NewReader(good)))
		require.EqualError(t, m.Add("bad", strings.NewReader(tt.bad)), tt.err)
		require.EqualError(t, m.Add("good", strings.NewReader(good)), tt.err)
		require.EqualError(t, m.Write(io.Discard), tt.err)
		var d Differ
		require.NoError(t, d.Add("good", strings.NewReader(good)))
		require.EqualError(t, d.Add("bad", strings.NewReader(tt.bad)), tt.err)
		require.EqualError(t, d.Add("good", strings.NewReader(good)), tt.err)
		require.EqualError(t, d.Write(io.Discard), tt.err)
	}
	var d Differ
	err := d.Add("a", strings.NewReader("x"))
	require.ErrorContains(t, err, "a:1: ")
	require.Equal(t, err, d.Add("b", strings.NewReader(good)))
	require.Equal(t, err, d.Write(io.Discard))
	wrong := errors.New("wrong")
	d = Differ{ModFunc: func(string) (string, error) { return "", wrong }}
	require.Equal(t, wrong, d.Add("a", strings.NewReader(good)))
	require.Equal(t, wrong, d.Write(io.Discard))
}

func TestDiffer(t *testing.T) {
	d := Differ{ModFunc: func(s string) (string, error) { return strings.TrimSuffix(s, "2"), nil }}
	require.NoError(t, d.Add("a", strings.NewReader("desc: x\ncmd: c\nevents: A B\n"+
		"fl=f\n1 1 1\nfn=g\n1 10 0\n2 5\nfl=e\nfn=h\n5x 1 2\nsummary: 17 3\n")))
	require.NoError(t, d.Add("b", strings.NewReader("cmd: d\nevents: A B\n"+
		"fl=f\nfn=g2\n9 12 1\nfn=g\n1 1 1\nsummary: 13 2")))
	var b bytes.Buffer
	require.NoError(t, d.Write(&b))
	require.Equal(t, "desc: Files compared:   a; b\ncmd: c; d\nevents: A B\n"+
		"fl=e\nfn=h\n0 -1 -2\nfl=f\nfn=???\n0 -1 -1\nfl=f\nfn=g\n0 -2 2\nsummary: -4 -1\n", b.String())

	var wrong Differ
	require.EqualError(t, wrong.Add("a", strings.NewReader("cmd: c\nevents: A\nsummary: 9\n1 1\nsummary: 2\n")),
		"a:6: `summary:` line doesn't match computed total\n- summary: [2]\n- total:   [1]")
}

func TestCount(t *testing.T) {
	edges := []*big.Int{}
	for _, s := range []string{"0", "1", "2", "9223372036854775806", "9223372036854775807", "9223372036854775808",
		"9223372036854775809", "18446744073709551615", "18446744073709551616", "340282366920938463463374607431768211456"} {
		b, _ := new(big.Int).SetString(s, 10)
		edges = append(edges, b, new(big.Int).Neg(b))
	}
	for _, x := range edges {
		a, ok := ParseCount(x.String())
		require.True(t, ok)
		require.Equal(t, x.String(), a.String())
		require.Equal(t, x.Sign(), a.Sign())
		require.Equal(t, new(big.Int).Neg(x).String(), a.Neg().String())
		require.Equal(t, new(big.Int).Abs(x).String(), a.Abs().String())
		if u, ok := a.Uint64(); ok {
			require.Equal(t, x.Uint64(), u)
			require.Equal(t, a, NewCountUint64(u))
		} else {
			require.False(t, x.IsUint64())
		}
		for _, y := range edges {
			b, _ := ParseCount(y.String())
			require.Equal(t, new(big.Int).Add(x, y).String(), a.Add(b).String())
			require.Equal(t, new(big.Int).Sub(x, y).String(), a.Sub(b).String())
			require.Equal(t, x.Cmp(y), a.Cmp(b))
			sum := a.Add(b)
			require.Equal(t, sum.big != nil, !sum.Big().IsInt64(), "one form for one value")
		}
	}
	require.Equal(t, NewCount(math.MinInt64).Neg(), NewCountUint64(1<<63))
}

// TestReadLine compares with the obvious way to cut lines.
func TestReadLine(t *testing.T) {
	for seed := range uint64(2000) {
		rnd := rand.New(rand.NewPCG(seed, 5))
		text := make([]byte, rnd.IntN(30))
		for i := range text {
			text[i] = "ab\r\n"[rnd.IntN(4)]
		}
		s := NewScanner("p", text)
		for rest := text; ; {
			i := bytes.IndexAny(rest, "\r\n")
			line, ended := s.readLine()
			if i < 0 {
				require.Equal(t, string(rest), string(line), "%q", text)
				require.False(t, ended)
				break
			}
			require.Equal(t, string(rest[:i]), string(line), "%q", text)
			require.True(t, ended)
			if bytes.HasPrefix(rest[i:], []byte("\r\n")) {
				i++
			}
			rest = rest[i+1:]
		}
		line, ended := s.readLine()
		require.Empty(t, line)
		require.False(t, ended)
	}
}

func TestParseCount(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"0", "0"}, {"007", "7"}, {"+5", "5"}, {"-5", "-5"}, {"1_000", "1000"}, {" 1\u2003", "1"},
		{"\u0661\u0662", "12"}, {"\U0001d7ff", "9"}, {"\U0001d7d8", "0"}, {"-0", "0"},
		{strings.Repeat("1", 4300), strings.Repeat("1", 4300)},
	} {
		c, ok := ParseCount(tt.in)
		require.True(t, ok, tt.in)
		require.Equal(t, tt.want, c.String())
	}
	for _, in := range []string{"", "+", "-", "_1", "1_", "1__0", "1.0", "0x1", "1e3", "--1", "+-1", "1 2",
		"\u00b2", "\xff", "1\x00", strings.Repeat("1", 4301)} {
		_, ok := ParseCount(in)
		require.False(t, ok, "%q", in)
	}
}
