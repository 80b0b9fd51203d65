package check

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu"
)

func TestParse(t *testing.T) {
	m, err := Parse([]byte(`
[defaults]
events = ["Ir", "D1mr"]
cache-sim = true
limit = "1%"
env = { A = "1", B = "2" }
[[benchmark]]
name = "one"
run = ["./one", "-x"]
[[benchmark]]
name = "two"
group = "g"
run = ["two"]
env = { B = "3" }
limit = { Ir = 500 }
events = ["Ir"]
[[benchmark.function]]
name = "parse_*"
limit = "2.5%"
`))
	require.NoError(t, err)
	one, two := m.Benchmarks[0], m.Benchmarks[1]
	require.Equal(t, []string{"A=1", "B=2"}, one.environ())
	require.Equal(t, []string{"A=1", "B=3"}, two.environ())
	require.True(t, two.Caches)
	l, err := one.limits(one.Limit)
	require.NoError(t, err)
	require.Equal(t, map[string]Limit{"Ir": {Percent: 1}, "D1mr": {Percent: 1}}, l)
	l, err = two.limits(two.Limit)
	require.NoError(t, err)
	require.Equal(t, map[string]Limit{"Ir": {Percent: -1, Events: 500}}, l)
	require.True(t, two.limited("a.c:parse_x"))
	require.False(t, two.limited("a.c:lex"))
	for pattern, key := range map[string]string{
		"*Parse*": "x.go:example.org/y.(*T).Parse", "v::operator[]*": "v.cc:v::operator[](int)", "src/*:f": "src/a/b.c:f", "?": "a.c:f",
	} {
		require.True(t, (&FunctionLimit{Name: pattern}).matches(key), pattern)
	}
}

func TestParseErrors(t *testing.T) {
	const one = "[[benchmark]]\nname='a'\nrun=['x']\n"
	for text, want := range map[string]string{
		"":                                      " no [[benchmark]]",
		"x":                                     "1:",
		"basline='x'\n" + one:                   `1: unknown key "basline"; did you mean "baseline"?`,
		one + "cachesim=true":                   `4: unknown key "benchmark.cachesim"; did you mean "cache-sim"?`,
		one + "[[benchmark.function]]\nnam=1":   `5: unknown key "benchmark.function.nam"; did you mean "name"?`,
		"[defaults]\nlimits=1\n" + one:          `2: unknown key "defaults.limits"; did you mean "limit"?`,
		one + "run=['y']":                       "4:",
		one + one:                               `benchmark 2 ("a"): there are two of this name`,
		"[[benchmark]]\nrun=['x']":              "no name",
		"[[benchmark]]\nname='a b'\nrun=['']":   "a name has no blanks",
		"[[benchmark]]\nname='a'":               "run has no program",
		one + "limit='much'":                    `limit: much is neither a number of events nor a text like "1.5%"`,
		one + "limit='-1%'":                     "neither a number",
		one + "limit={Ix=1}":                    `limit of Ix, which is not among the events Ir; did you mean "Ir"?`,
		one + "limit={Ir='x'}":                  "limit of Ir: x is neither",
		one + "[[benchmark.function]]\nlimit=1": "a function has no name",
	} {
		_, err := Parse([]byte(text))
		require.ErrorContains(t, err, want, text)
	}
}

func TestLoad(t *testing.T) {
	_, err := Load("nowhere.toml")
	require.ErrorIs(t, err, os.ErrNotExist)
	name := filepath.Join(t.TempDir(), "perf.toml")
	require.NoError(t, os.WriteFile(name, []byte("x"), 0o644))
	_, err = Load(name)
	require.ErrorContains(t, err, name+":1:")
	require.NoError(t, os.WriteFile(name, []byte("[[benchmark]]\nname='a'\nrun=['x']"), 0o644))
	m, err := Load(name)
	require.NoError(t, err)
	require.Equal(t, "perf.baseline", m.Baseline)
	require.Equal(t, filepath.Dir(name), m.Dir)
}

// TestVolumes reads values of volumes.
func TestVolumes(t *testing.T) {
	for text, want := range map[string]cgemu.Bind{
		"data:/d": {Host: "data", Guest: "/d"}, "../a b:/d/e:ro": {Host: "../a b", Guest: "/d/e", ReadOnly: true}, `C:\x:/d`: {Host: `C:\x`, Guest: "/d"}, "a:b:/d": {Host: "a:b", Guest: "/d"},
	} {
		got, err := parseVolume(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, text := range []string{"", "data", "data:d", ":/d", "data:ro"} {
		_, err := parseVolume(text)
		require.ErrorContains(t, err, "volumes: ", text)
	}
}

func TestLimit(t *testing.T) {
	for _, c := range []struct {
		l        Limit
		old, new uint64
		ok       bool
	}{
		{Limit{}, 100, 100, true}, {Limit{}, 100, 101, false}, {Limit{}, 100, 1, true},
		{Limit{Percent: 1}, 100, 101, true}, {Limit{Percent: 1}, 100, 102, false}, {Limit{Percent: 1}, 0, 1, false},
		{Limit{Percent: -1, Events: 5}, 0, 5, true}, {Limit{Percent: -1, Events: 5}, 0, 6, false},
	} {
		require.Equal(t, c.ok, c.l.allows(c.old, c.new), "%v %d %d", c.l, c.old, c.new)
	}
	require.Equal(t, "0.5%", Limit{Percent: 0.5}.String())
	require.Equal(t, "70", Limit{Percent: -1, Events: 70}.String())
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("[[benchmark]]\nname='a'\nrun=['x']\nlimit={Ir='1%'}\n[[benchmark.function]]\nname='f*'\nlimit=3"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if m, err := Parse(text); err == nil {
			require.NotEmpty(t, m.Benchmarks)
		}
	})
}

// TestDefaultsTakenBack has a benchmark say otherwise by what is nothing elsewhere: 0, false, no text, no list.
func TestDefaultsTakenBack(t *testing.T) {
	m, err := Parse([]byte(`
[defaults]
dir = "d"
stdin = "in"
env = { A = "a" }
isolate = "elsewhere"
status = 3
events = ["Ir", "Dr"]
limit = 10
cpu = "v4"
cache-sim = true
branch-sim = true
toggle-collect = ["f"]
max-insns = 5
trace-children = false

[[benchmark]]
name = "same"
run = ["./p"]

[[benchmark]]
name = "other"
run = ["./p"]
dir = ""
stdin = ""
env = { A = "" }
isolate = true
status = 0
events = ["Ir"]
limit = 0
cpu = ""
cache-sim = false
branch-sim = false
toggle-collect = []
max-insns = 0
trace-children = true
`))
	require.NoError(t, err)
	require.Equal(t, m.Defaults, m.Benchmarks[0].Settings)
	yes := true
	require.Equal(t, Settings{
		Env: map[string]string{"A": ""}, Isolate: true, Events: []string{"Ir"}, Limit: int64(0), ToggleCollect: []string{}, Children: &yes,
	}, m.Benchmarks[1].Settings)
}

// TestEndlessManifest reads a file that has no end.
func TestEndlessManifest(t *testing.T) {
	const endless = "/dev/zero"
	if _, err := os.Stat(endless); err != nil {
		t.Skip(err)
	}
	_, err := Load(endless)
	require.ErrorContains(t, err, "/dev/zero: more than 16 MiB")
}

// TestWrongSettings has what cannot be meant be refused.
func TestWrongSettings(t *testing.T) {
	for setting, want := range map[string]string{
		`env = { "A=B" = "x" }`: `env: "A=B" is no name of a variable`,
		`env = { A = 1 }`:       "an integer, where a text is expected",
	} {
		_, err := Parse([]byte("[[benchmark]]\nname = \"b\"\nrun = [\"./p\"]\n" + setting + "\n"))
		require.ErrorContains(t, err, want)
	}
	m, err := Parse([]byte("[[benchmark]]\nname = \"b\"\nrun = [\"./p\"]\ndir = \"nowhere\"\n"))
	require.NoError(t, err)
	_, err = m.Run(t.Context(), &m.Benchmarks[0])
	require.EqualError(t, err, "dir: nowhere is not there")
}
