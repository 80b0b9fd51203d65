package check

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const sample = baselineHead + "\n#\n# a\n#\n\na\tevent\tD1mr\t7\na\tevent\tIr\t100\na\tfunction\tx.c:f\t60\na\tlimited\tf*\t61\na\tmade-by\tcpu\tv3\n\n#\n# b\n#\n\nb\tevent\tIr\t1\n"

func TestBaseline(t *testing.T) {
	b, err := ReadBaseline(strings.NewReader(sample))
	require.NoError(t, err)
	require.Equal(t, Baseline{
		"a": {Events: map[string]uint64{"Ir": 100, "D1mr": 7}, Functions: map[string]uint64{"x.c:f": 60}, Limited: map[string]uint64{"f*": 61}, Fingerprint: map[string]string{"cpu": "v3"}},
		"b": {Events: map[string]uint64{"Ir": 1}, Functions: map[string]uint64{}, Limited: map[string]uint64{}, Fingerprint: map[string]string{}},
	}, b)
	var out bytes.Buffer
	require.NoError(t, b.Write(&out))
	require.Equal(t, sample, out.String())
}

// TestBaselineFields puts into each field what ends fields and lines.
func TestBaselineFields(t *testing.T) {
	const odd = "a\tb\nc\rd\\t\\"
	c := newCounts()
	c.Events[odd], c.Functions[odd], c.Limited[odd], c.Fingerprint[odd] = 1, 2, 3, odd
	var out bytes.Buffer
	require.NoError(t, Baseline{odd: c}.Write(&out))
	b, err := ReadBaseline(&out)
	require.NoError(t, err)
	require.Equal(t, Baseline{odd: c}, b)
}

func TestBaselineErrors(t *testing.T) {
	for text, want := range map[string]string{
		"<<<<<<< HEAD\n":                     "1: not BENCHMARK, KIND, NAME and VALUE",
		"# x\na\tevent\tIr\tmany\n":          `2: "many" is no count`,
		"a\tevent\tIr\t1\na\tevent\tIr\t2\n": "2: a has two counts of Ir",
		"a\tevent\tIr\t1\na\tevent\tIr\t2\na\tfunction\tf\t1\na\tfunction\tf\t2\nb\tevent\tIr\t1\nb\tevent\tIr\t2\n": "2: a and b have two counts each: two branches changed them",
		"a\tsize\tIr\t1\n":                      `1: no line is of the kind "size"`,
		"\tevent\tIr\t1\n":                      "1: not BENCHMARK",
		"a\tevent\tIr\t1\r\n\nb\tevent\tIr\t-1": `3: "-1" is no count`,
	} {
		_, err := ReadBaseline(strings.NewReader(text))
		require.ErrorContains(t, err, want, text)
	}
}

// TestGitMerges has git merge the baselines of two branches of which each has changed another benchmark.
func TestGitMerges(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	write := func(name string, a, b uint64) {
		base := Baseline{}
		for which, n := range map[string]uint64{"a": a, "b": b} {
			base[which] = counts(map[string]uint64{"Ir": n}, nil)
			base[which].Fingerprint = map[string]string{"counting": "1", "cpu": "v3", "program": strconv.FormatUint(n, 16)}
		}
		var out bytes.Buffer
		require.NoError(t, base.Write(&out))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), out.Bytes(), 0o644))
	}
	write("old", 1, 2)
	write("ours", 10, 2)
	write("theirs", 1, 20)
	cmd := exec.Command("git", "merge-file", "--stdout", "ours", "old", "theirs")
	cmd.Dir = dir
	text, err := cmd.Output()
	require.NoError(t, err, "%s", text)
	b, err := ReadBaseline(bytes.NewReader(text))
	require.NoError(t, err)
	require.EqualValues(t, 10, b["a"].Events["Ir"])
	require.EqualValues(t, 20, b["b"].Events["Ir"])
}

// TestUnion reads a baseline in which two branches that have built the program each were joined: either build is as
// before.
func TestUnion(t *testing.T) {
	b, err := ReadBaseline(strings.NewReader("a\tevent\tIr\t1\na\tmade-by\tprogram\tx\na\tmade-by\tprogram\ty\na\tmade-by\tprogram\tx\n"))
	require.NoError(t, err)
	for program, differs := range map[string]int{"x": 0, "y": 0, "z": 1} {
		now := counts(map[string]uint64{"Ir": 1}, nil)
		now.Fingerprint = map[string]string{"program": program}
		r := Compare(&Benchmark{Name: "a", Settings: Settings{Events: []string{"Ir"}}}, b["a"], measured(now))
		require.Len(t, r.Differs, differs)
		require.Equal(t, Same, r.Verdict)
	}
}

func FuzzReadBaseline(f *testing.F) {
	f.Add([]byte(sample))
	f.Fuzz(func(t *testing.T, text []byte) {
		b, err := ReadBaseline(bytes.NewReader(text))
		if err != nil {
			return
		}
		var out, again bytes.Buffer
		require.NoError(t, b.Write(&out))
		c, err := ReadBaseline(bytes.NewReader(out.Bytes()))
		require.NoError(t, err)
		require.NoError(t, c.Write(&again))
		require.Equal(t, out.String(), again.String())
	})
}
