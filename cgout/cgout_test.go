package cgout

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite testdata/*.golden from this run")

// golden compares got with a file of testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		require.NoError(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "%s differs (go test ./cgout -update rewrites it)", path)
}

var allEvents = []string{"Ir", "I1mr", "ILmr", "Dr", "D1mr", "DLmr", "Dw", "D1mw", "DLmw", "Bc", "Bcm", "Bi", "Bim"}

// sample is a small run with both simulations.
func sample() *Profile {
	p := New(allEvents...)
	p.Desc = []string{
		"I1 cache:         32768 B, 64 B, 8-way associative",
		"D1 cache:         32768 B, 64 B, 8-way associative",
		"LL cache:         8388608 B, 64 B, 16-way associative",
	}
	p.Cmd = "./prog a  b"
	p.Add("/src/b.c", "main", 12, 100, 1, 1, 20, 3, 2, 10, 1, 1, 9, 2, 1, 1)
	p.Add("/src/b.c", "main", 2, 7)
	p.Add("???", "???", 0, 5)
	p.Add("/src/a.h", "main", 3, 0, 0, 0)
	p.Add("/src/a.h", "f(int)", 10, 11)
	p.Add("/src/a.h", "f(int)", 9, 1)
	p.Add("/src/b.c", "main", 12, 1000)
	p.Add("/src/b.c", "F", 1, 1)
	p.Add("/src/zero.c", "g", 1)
	return p
}

func TestWrite(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, sample().Write(&b))
	golden(t, "sample.out", b.Bytes())
}

func TestWriteEventsLine(t *testing.T) {
	for _, tt := range []struct {
		events []string
		want   string
	}{
		{allEvents[:1], "events: Ir\n"},
		{allEvents[:9], "events: Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw \n"},
		{[]string{"Ir", "Bc", "Bcm", "Bi", "Bim"}, "events: Ir Bc Bcm Bi Bim\n"},
		{allEvents, "events: Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw Bc Bcm Bi Bim\n"},
	} {
		var b bytes.Buffer
		require.NoError(t, New(tt.events...).Write(&b))
		zeros := strings.Repeat(" 0", len(tt.events))
		require.Equal(t, "cmd: \n"+tt.want+"summary:"+zeros+"\n", b.String())
	}
}

// A name with a line end would add lines to the file.
func TestWriteLineEnds(t *testing.T) {
	p := New("Ir")
	p.Cmd = "sh -c a\nb"
	p.Add("a\r\nb", "f\n", 1, 2)
	var b bytes.Buffer
	require.NoError(t, p.Write(&b))
	require.Equal(t, "cmd: sh -c a b\nevents: Ir\nfl=a  b\nfn=f \n1 2\nsummary: 2\n", b.String())
}

// TestVectors reads what Cachegrind wrote and writes it again: equal but for
// lines that are all zero, which 3.19 writes and we leave out.
func TestVectors(t *testing.T) {
	files, err := filepath.Glob("testdata/cachegrind/*.out")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, name := range files {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		p, err := Read(name, bytes.NewReader(data))
		require.NoError(t, err)
		var b bytes.Buffer
		require.NoError(t, p.Write(&b))
		require.Equal(t, dropZeroLines(string(data)), b.String(), name)
	}
}

// dropZeroLines removes count lines without counts, then fl= and fn= lines that
// no count line follows.
func dropZeroLines(text string) string {
	var out, names []string
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "fl="):
			names = []string{line}
		case strings.HasPrefix(line, "fn="):
			if len(names) > 0 && strings.HasPrefix(names[len(names)-1], "fn=") {
				names = names[:len(names)-1]
			}
			names = append(names, line)
		case line[0] >= '0' && line[0] <= '9':
			if strings.Trim(strings.Join(fields[1:], ""), "0") != "" {
				out = append(append(out, names...), line)
				names = nil
			}
		default:
			out = append(out, line)
		}
	}
	return strings.Join(out, "")
}

func randomProfile(r *rand.Rand) *Profile {
	p := New(allEvents[:1+r.IntN(len(allEvents))]...)
	for range r.IntN(4) {
		p.Desc = append(p.Desc, randomText(r))
	}
	p.Cmd = randomText(r)
	counts := make([]uint64, len(p.Events))
	for range r.IntN(60) {
		for i := range counts {
			// The sum of 60 of these does not overflow.
			counts[i] = r.Uint64() >> (6 + r.IntN(58))
		}
		counts[0]++
		line := r.IntN(40)
		if r.IntN(20) == 0 {
			line = math.MaxInt - line
		}
		p.Add(randomText(r), randomText(r), line, counts[:1+r.IntN(len(counts))]...)
	}
	return p
}

// randomText returns a text that begins and ends with no blank, which the header
// lines would not keep.
func randomText(r *rand.Rand) string {
	parts := []string{"a", "b", "/", "main", " ", "fl=", "#", "1", "é", "\xff", ":", "operator()(int, char*)", "\t"}
	var b strings.Builder
	b.WriteString("x")
	for range r.IntN(3) {
		b.WriteString(parts[r.IntN(len(parts))])
	}
	return b.String() + "y"
}

func TestRoundTrip(t *testing.T) {
	for seed := range uint64(1000) {
		p := randomProfile(rand.New(rand.NewPCG(seed, 1)))
		var b bytes.Buffer
		require.NoError(t, p.Write(&b))
		text := b.String()
		q, err := Read("p", strings.NewReader(text))
		require.NoError(t, err, text)
		require.Equal(t, p.Desc, q.Desc)
		require.Equal(t, p.Cmd, q.Cmd)
		require.Equal(t, p.Events, q.Events)
		require.Equal(t, dump(p), dump(q))
		b.Reset()
		require.NoError(t, q.Write(&b))
		require.Equal(t, text, b.String())
	}
}

func dump(p *Profile) (lines []string) {
	p.Each(func(file, fn string, line int, counts []uint64) {
		lines = append(lines, fmt.Sprintf("%q %q %d %d", file, fn, line, counts))
	})
	return lines
}

// TestAdd checks the accumulator against a map.
func TestAdd(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	p := New("A", "B")
	type key struct {
		file, fn string
		line     int
	}
	want := map[key][2]uint64{}
	var total [2]uint64
	for range 5000 {
		k := key{fmt.Sprint(r.IntN(5)), fmt.Sprint(r.IntN(5)), r.IntN(30)}
		a, b := r.Uint64N(100), r.Uint64N(100)
		if r.IntN(2) == 0 {
			p.Add(k.file, k.fn, k.line, a, b)
		} else {
			c := p.Counts(p.Centre(k.file, k.fn, k.line))
			c[0] += a
			c[1] += b
		}
		w := want[k]
		want[k] = [2]uint64{w[0] + a, w[1] + b}
		total[0] += a
		total[1] += b
	}
	require.Equal(t, len(want), p.Len())
	var last key
	p.Each(func(file, fn string, line int, counts []uint64) {
		k := key{file, fn, line}
		w := want[k]
		require.Equal(t, w[:], counts, k)
		if last.file == file && last.fn == fn {
			require.Less(t, last.line, line)
		}
		last = k
	})
	require.Equal(t, total[:], p.Totals())
	require.Equal(t, total[1], p.Total("B"))
	require.Zero(t, p.Total("C"))
	require.Panics(t, func() { p.Add("", "", 1, 1, 2, 3) })
}

func TestMergeProfile(t *testing.T) {
	p, q := sample(), sample()
	c := p.Clone()
	require.NoError(t, p.Merge(q))
	want := sample().Totals()
	for i := range want {
		want[i] *= 2
	}
	require.Equal(t, want, p.Totals())
	require.Equal(t, dump(q), dump(c), "a clone does not change with the original")
	require.ErrorContains(t, p.Merge(New("Ir")), `events ["Ir"] do not match`)
}

func TestReadErrors(t *testing.T) {
	const head = "cmd: x\nevents: Ir Dr\n"
	for _, tt := range []struct{ text, want string }{
		{"", "p:1: missing a `command:` line"},
		{"int main() {\n}\n", "p:1: missing a `command:` line: this is no profile; cgemu PROGRAM writes one, which is called cachegrind.out.1000"},
		{"\x7fELF\x02", "p:1: missing a `command:` line: this is a program; to run it, and write its profile: cgemu p"},
		{"insns: 2\n", "p:1: missing a `command:` line: this is what stands beside a profile, by instruction; that has the name without .insns"},
		{"# broken\ncmd: x\n", "p:1: missing a `command:` line"},
		{"desc: a\n", "p:2: missing a `command:` line"},
		{"desc:a\ncmd: x\n", "p:1: missing a `command:` line"},
		{"cmd: x\n", "p:2: missing an `events:` line"},
		{"cmd: x\nevents:\nsummary:\n", "p:2: no events"},
		{head, "p:3: missing `summary:` line, aborting"},
		{head + "1 2 3 4\n", "p:3: malformed or too many event counts"},
		{head + "1x 2\n", "p:3: malformed or too many event counts"},
		{head + "1 2.5\n", "p:3: malformed or too many event counts"},
		{head + "² 2\n", "p:3: malformed or too many event counts"},
		{head + " 1 2\n", "p:3: malformed line:  1 2"},
		{head + "-1 2", "p:3: malformed line: -1 "},
		{head + "fi=x\n", "p:3: malformed line: fi=x"},
		{head + "1 -2\n", "p:3: count -2 is out of range"},
		{head + "1 18446744073709551616\n", "p:3: count 18446744073709551616 is out of range"},
		{head + "9223372036854775808 1\n", "p:3: line number 9223372036854775808 is out of range"},
		{head + "1 2 3\nsummary: 2 4\n",
			"p:4: `summary:` line doesn't match computed total\n- summary:  [2, 4]\n- computed: [2, 3]"},
	} {
		_, err := Read("p", strings.NewReader(tt.text))
		require.EqualError(t, err, tt.want, "%q", tt.text)
	}
}

func TestReadSyntax(t *testing.T) {
	p, err := Read("p", strings.NewReader("desc:  d \r\ndesc:\rcmd:\t c\nevents: A\u00a0B\n\n# x\nfn=g\n"+
		"1_0\u30001\nfl=f g\n07 +2 \u0663\n\n12\nfn=\n3 18446744073709551600\nsummary: 18446744073709551603 3"))
	require.NoError(t, err)
	require.Equal(t, []string{"d ", ""}, p.Desc)
	require.Equal(t, "c", p.Cmd)
	require.Equal(t, []string{"A", "B"}, p.Events)
	require.Equal(t, []string{
		`"" "g" 10 [1 0]`,
		`"f g" "" 3 [18446744073709551600 0]`,
		`"f g" "<unspecified>" 7 [2 3]`,
		`"f g" "<unspecified>" 12 [0 0]`,
	}, dump(p))
}

func FuzzRead(f *testing.F) {
	var b bytes.Buffer
	if err := sample().Write(&b); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	files, _ := filepath.Glob("testdata/cachegrind/*.out")
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("cmd:\revents: A\rfl=\rfn=\xff\r1 2\rsummary: 2"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Read("p", bytes.NewReader(data))
		if err != nil {
			return
		}
		// What can be read can be written, and reads as the same.
		var out bytes.Buffer
		require.NoError(t, p.Write(&out))
		q, err := Read("q", bytes.NewReader(out.Bytes()))
		require.NoError(t, err, "%q", out.String())
		require.Equal(t, p.Totals(), q.Totals())
		var again bytes.Buffer
		require.NoError(t, q.Write(&again))
		require.Equal(t, out.String(), again.String())
	})
}

func BenchmarkRead(b *testing.B) {
	p := New(allEvents...)
	for i := range 100_000 {
		p.Add(fmt.Sprintf("/usr/src/file%d.c", i/1000), fmt.Sprintf("function_%d", i/50), i%1000,
			uint64(i)*1000, 1, 0, uint64(i), 0, 0, uint64(i), 0, 0, 1, 0, 0, 0)
	}
	var buf bytes.Buffer
	if err := p.Write(&buf); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(buf.Len()))
	for b.Loop() {
		if _, err := Read("p", bytes.NewReader(buf.Bytes())); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAdd(b *testing.B) {
	p := New(allEvents...)
	i := 0
	for b.Loop() {
		p.Add("file.c", "function", i&1023, 1, 2, 3)
		i++
	}
}

func BenchmarkWrite(b *testing.B) {
	p := New(allEvents...)
	for i := range 100_000 {
		p.Add(fmt.Sprintf("/usr/src/file%d.c", i/1000), fmt.Sprintf("function_%d", i/50), i%1000, uint64(i)+1)
	}
	var buf bytes.Buffer
	for b.Loop() {
		buf.Reset()
		if err := p.Write(&buf); err != nil {
			b.Fatal(err)
		}
	}
}
