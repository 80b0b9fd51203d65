package cgout

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// An endless is a text again and again, and counts what is read of it.
type endless struct {
	text string
	read int
}

func (e *endless) Read(b []byte) (int, error) {
	n := copy(b, strings.Repeat(e.text, len(b)/len(e.text)+1))
	e.read += n
	return n, nil
}

// TestEndless reads files that have no end.
func TestEndless(t *testing.T) {
	for _, text := range []string{"\x00", "\n", "no profile", "events: A\n"} {
		r := &endless{text: text}
		_, err := Read("x", r)
		require.ErrorContains(t, err, "x:1: missing a `command:` line")
		require.LessOrEqual(t, r.read, 1<<20)
	}
	r := &endless{text: "desc: "}
	_, err := readAll("x", r, 2<<20)
	require.EqualError(t, err, "x: no profile: it has more than 2 MiB")
	require.LessOrEqual(t, r.read, 3<<20)
}

// TestFewCounts has profiles in which a few bytes stand for many counts.
func TestFewCounts(t *testing.T) {
	profile := func(events, lines, given int) io.Reader {
		var b bytes.Buffer
		b.WriteString("cmd: x\nevents:" + strings.Repeat(" E", events) + "\nfl=f\nfn=f\n")
		for i := range lines {
			fmt.Fprintf(&b, "%d%s\n", i, strings.Repeat(" 1", given))
		}
		b.WriteString("summary:" + strings.Repeat(fmt.Sprint(" ", lines), given) + "\n")
		return &b
	}
	for _, tt := range []struct {
		events, lines, given int
		err                  string
	}{
		{1000, 1000, 1, ""},
		{1000, 10_000, 1, "too many lines have fewer counts than the 1000 events"},
		{1000, 2000, 1000, ""},
		{10, 200_000, 1, ""},
		{1001, 1, 1, "x:2: 1001 events are more than 1000"},
		{100_000, 1, 1, "x:2: 100000 events are more than 1000"},
	} {
		for name, read := range map[string]func(io.Reader) error{
			"read":  func(r io.Reader) error { _, err := Read("x", r); return err },
			"merge": func(r io.Reader) error { return new(Merger).Add("x", r) },
			"diff":  func(r io.Reader) error { return new(Differ).Add("x", r) },
		} {
			err := read(profile(tt.events, tt.lines, tt.given))
			if tt.err == "" {
				require.NoError(t, err, name)
			} else {
				require.ErrorContains(t, err, tt.err, name)
			}
		}
	}
}

// TestMisuse wants errors, and no wrong counts.
func TestMisuse(t *testing.T) {
	const text = "cmd: x\nevents: A\nfl=f\nfn=f\n1 5\nsummary: 5\n"
	require.EqualError(t, new(Merger).Write(io.Discard), "cgout: Merger.Write before a profile was added")
	var d Differ
	require.EqualError(t, d.Write(io.Discard), "cgout: Differ.Write before two profiles were added")
	require.NoError(t, d.Add("a", strings.NewReader(text)))
	require.Error(t, d.Write(io.Discard))
	require.NoError(t, d.Add("b", strings.NewReader(text)))
	require.EqualError(t, d.Add("c", strings.NewReader(text)), "cgout: a third profile for a Differ")
	require.NoError(t, d.Write(io.Discard))

	path := filepath.Join(t.TempDir(), "p")
	require.EqualError(t, WriteFiles(t.Context(), path, nil, new(Insns).Write), "cgout: WriteFiles without a profile")
	require.NoFileExists(t, path+InsnsSuffix)

	p := New("A")
	p.Add("f", "g", 1, math.MaxUint64-1)
	p.Add("f", "g", 1, 5)
	p.Add("f", "g", 2, 5)
	require.Equal(t, []uint64{math.MaxUint64}, p.Totals())
	require.Equal(t, uint64(math.MaxUint64), p.Counts(p.Centre("f", "g", 1))[0])

	p.Insns = &Insns{Events: []string{"A"}, List: []Insn{{Object: "o", Code: []byte{0x90}, Counts: []uint64{7}}}}
	q := p.Clone()
	require.Equal(t, p.Insns, q.Insns)
	q.Insns.List[0].Counts[0]++
	require.Equal(t, uint64(7), p.Insns.List[0].Counts[0])
	require.Nil(t, New("A").Clone().Insns)
}
