package cli

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/annotate"
	"github.com/cgemu/cgemu/cgout"
)

// schema compiles the schema under an absolute URL: a relative one is a file of the working directory, which jsonschema
// does not find again if the directory's path has blanks.
func schema(tb testing.TB) *jsonschema.Schema {
	const url = "https://cgemu.example/profile.schema.json"
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(annotate.Schema))
	require.NoError(tb, err)
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	require.NoError(tb, c.AddResource(url, doc))
	s, err := c.Compile(url)
	require.NoError(tb, err)
	return s
}

// run runs a tool that succeeds, and returns what it prints.
func output(tb testing.TB, tool func(args []string, out, err *bytes.Buffer) int, args ...string) string {
	var stdout, stderr bytes.Buffer
	require.Zero(tb, tool(args, &stdout, &stderr), "%s", &stderr)
	require.Empty(tb, stderr.String())
	return stdout.String()
}

func annotateTool(args []string, out, err *bytes.Buffer) int { return Annotate("x", args, out, err) }
func diffTool(args []string, out, err *bytes.Buffer) int     { return Diff("x", args, out, err) }
func callersTool(args []string, out, err *bytes.Buffer) int  { return Callers("x", args, out, err) }
func mergeTool(args []string, out, err *bytes.Buffer) int    { return Merge("x", args, out, err) }

// TestSchema validates what the tools write.
func TestSchema(t *testing.T) {
	s := schema(t)
	one, two := randomFile(t, 1), randomFile(t, 2)
	old, new := graphFile(t, 1), graphFile(t, 2)
	for _, text := range []string{
		output(t, annotateTool, "--format=json", "--threshold=0", "--derived=rates,cycles,parent,Ir/Dr", one),
		output(t, annotateTool, "--format=json", "--threshold=20", one, two),
		output(t, annotateTool, "--format=json", "--diff", "--top=3", one, two),
		output(t, diffTool, "--format=json", "--derived=cycles,parent", one, two),
		output(t, diffTool, "--format=json", one, one),
		output(t, mergeTool, "--format=json", "--derived=parent", one, two),
		output(t, annotateTool, "--format=json", "--inclusive", "--tree=both", "--derived=parent", old),
		output(t, annotateTool, "--format=json", "--tree=caller", old, new),
		output(t, annotateTool, "--format=json", "--inclusive", old),
		output(t, diffTool, "--format=json", "--tree=calling", old, new),
		output(t, callersTool, "--format=json", "f", old),
		output(t, callersTool, "--format=json", "--diff", "*", old, new),
	} {
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		require.NoError(t, err, text)
		require.NoError(t, s.Validate(doc), text)
	}
	// It finds faults, too.
	for _, change := range [][2]string{
		{`"version": 1`, `"version": 2`}, {`"tool": "merge"`, `"tool": "m"`}, {`"counts"`, `"count"`},
		{`"line": 1,`, `"line": "1",`}, {`"functions": [`, `"function": [`}, {`"source": "off"`, `"source": "on"`},
	} {
		text := output(t, mergeTool, "--format=json", one)
		require.Contains(t, text, change[0])
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(strings.Replace(text, change[0], change[1], 1)))
		require.NoError(t, err)
		require.Error(t, s.Validate(doc), change[1])
	}
	for _, change := range [][2]string{
		{`"callGraph"`, `"calls"`}, {`"recursive": true`, `"recursive": 1`}, {`"object"`, `"objects"`}, {`"line": 3, "calls": 2}`, `"line": 3, "calls": 2, "counts": 1}`},
	} {
		text := output(t, callersTool, "--format=json", "f", old)
		require.Contains(t, text, change[0])
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(strings.Replace(text, change[0], change[1], 1)))
		require.NoError(t, err)
		require.Error(t, s.Validate(doc), change[1])
	}
	copied, err := os.ReadFile("../../docs/profile.schema.json")
	require.NoError(t, err)
	require.Equal(t, annotate.Schema, string(copied), "copy annotate/profile.schema.json to docs")
}

// graphFile writes a profile with a call graph: functions call themselves and each other.
func graphFile(tb testing.TB, n uint64) string {
	p := cgout.New("Ir", "Dr")
	p.Cmd, p.Graph = "./x", cgout.NewCallGraph(2)
	fn := func(name string) cgout.Func { return cgout.Func{Object: "/x", File: "x.c", Name: name} }
	for i, name := range []string{"main", "f", "odd", "even", "\xff"} {
		p.Add("x.c", name, i, 10*n, 1)
		p.Graph.AddCost(fn(name), "x.c", i, 10*n, 1)
	}
	for _, c := range []struct {
		from, to string
		cost     uint64
	}{{"main", "f", 30}, {"f", "f", 5}, {"f", "odd", 20}, {"odd", "even", 15}, {"even", "odd", 10}, {"f", "\xff", 10}} {
		p.Graph.AddCall(cgout.Call{Caller: fn(c.from), File: "x.c", Line: 3, Callee: fn(c.to), CalleeLine: 1, Count: 2, Counts: []uint64{n * c.cost, 2}})
	}
	path := filepath.Join(tb.TempDir(), fmt.Sprintf("g%d", n))
	require.NoError(tb, p.WriteFile(path))
	return path
}

// randomFile writes a small profile.
func randomFile(tb testing.TB, seed uint64) string {
	rnd := rand.New(rand.NewPCG(seed, 7))
	p := cgout.New("Ir", "Dr", "D1mr")
	p.Cmd = `./x "y"`
	for range 60 {
		file := []string{"formats_test.go", "nowhere/b.c", "???", "caf\xe9.c", `q"\.c`}[rnd.IntN(5)]
		fn := fmt.Sprintf("f%d%s", rnd.IntN(6), []string{"", ".part.0", "::h0123456789abcde" + fmt.Sprint(seed%10)}[rnd.IntN(3)])
		p.Add(file, fn, rnd.IntN(8), rnd.Uint64N(1000), rnd.Uint64N(100), rnd.Uint64N(10))
	}
	path := filepath.Join(tb.TempDir(), fmt.Sprintf("p%d", seed))
	require.NoError(tb, p.WriteFile(path))
	return path
}

// A jsonReport is what TestSums reads of a report.
type jsonReport struct {
	Total, Omitted jsonRow
	Files          []jsonRow
	Functions      []struct {
		jsonRow
		Lines []jsonRow
	}
}

type jsonRow struct{ Counts, Old, New, Delta map[string]int }

// add returns the sum of rows, field by field.
func (r jsonRow) add(s jsonRow) jsonRow {
	sum := func(a, b map[string]int) map[string]int {
		if a == nil && b == nil {
			return nil
		}
		m := map[string]int{}
		for _, from := range []map[string]int{a, b} {
			for k, v := range from {
				m[k] += v
			}
		}
		return m
	}
	return jsonRow{sum(r.Counts, s.Counts), sum(r.Old, s.Old), sum(r.New, s.New), sum(r.Delta, s.Delta)}
}

// TestSums checks that nothing is lost: functions and what is omitted are the
// total, lines are their function.
func TestSums(t *testing.T) {
	for seed := range uint64(20) {
		one, two := randomFile(t, 2*seed), randomFile(t, 2*seed+1)
		for _, text := range []string{
			output(t, annotateTool, "--format=json", "--threshold=5", one, two),
			output(t, annotateTool, "--format=json", "--only=*.c", "--top=4", one),
			output(t, diffTool, "--format=json", one, two),
			output(t, diffTool, "--format=json", "--match=exact", "--min-delta=10%", one, two),
			output(t, mergeTool, "--format=json", one, two),
		} {
			var r jsonReport
			require.NoError(t, json.Unmarshal([]byte(text), &r))
			sum := r.Omitted
			for _, f := range r.Functions {
				sum = sum.add(f.jsonRow)
				var lines jsonRow
				for _, l := range f.Lines {
					lines = lines.add(l)
				}
				require.Equal(t, f.jsonRow, lines)
			}
			require.Equal(t, r.Total, sum)
		}
	}
}

// TestCSV checks that rows are as long as the heading says, and texts survive.
func TestCSV(t *testing.T) {
	one, two := randomFile(t, 1), randomFile(t, 2)
	for _, text := range []string{
		output(t, annotateTool, "--format=csv", "--threshold=0", "--derived=cycles,parent", one),
		output(t, diffTool, "--format=csv", "--derived=Dr/Ir", one, two),
	} {
		rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
		require.NoError(t, err)
		require.Contains(t, text, `"q""\.c"`)
		require.Contains(t, text, "caf\xe9.c")
		require.True(t, slices.ContainsFunc(rows, func(row []string) bool { return row[0] == "line" }))
	}
}

// TestDeterministic runs tools twice: no order of a map shows.
func TestDeterministic(t *testing.T) {
	one, two := randomFile(t, 1), randomFile(t, 2)
	for _, format := range formatNames {
		args := []string{"--table", "--format=" + format, "--min-delta=0", one, two}
		require.Equal(t, output(t, diffTool, args...), output(t, diffTool, args...))
	}
}

// FuzzFormats renders profiles in all formats: no input makes the tools panic,
// and JSON keeps to its schema.
func FuzzFormats(f *testing.F) {
	for _, name := range []string{randomFile(f, 1), randomFile(f, 2)} {
		data, err := os.ReadFile(name)
		require.NoError(f, err)
		f.Add(data, "Ir/Dr", "*")
	}
	f.Add([]byte("cmd: x\nevents: A A\nfl=fuzz_test.go\nfn=f.part.1\n3 1 2\n0 5 -5\n99999999999999999999 1 1\nsummary: 7 -2\n"), "A/A", "f?")
	f.Add([]byte("cmd: x\nevents: A\n3 1\nfl=\xff\n3 -1\n3 99999999999999999999999\nsummary: 99999999999999999999999\n"), "cycles", "*")
	s := schema(f)
	f.Fuzz(func(t *testing.T, data []byte, derived, focus string) {
		path := filepath.Join(t.TempDir(), "p")
		require.NoError(t, os.WriteFile(path, data, 0o600))
		options := []string{"--derived=" + derived, "--focus=" + focus, "--only=*"}
		for _, tool := range []func([]string, *bytes.Buffer, *bytes.Buffer) int{annotateTool, diffTool} {
			for _, format := range formatNames {
				args := append(options, "--format="+format, path)
				args = append([]string{"--threshold=0"}, args...)
				if fmt.Sprintf("%p", tool) == fmt.Sprintf("%p", diffTool) {
					args = append([]string{"--table", "--min-delta=0", path}, args[1:]...)
				}
				var stdout, stderr bytes.Buffer
				status := tool(args, &stdout, &stderr)
				require.Equal(t, status != 0, stderr.Len() > 0, stderr.String())
				if status != 0 {
					require.Contains(t, stderr.String(), "x: error: ")
					continue
				}
				if format == "json" {
					doc, err := jsonschema.UnmarshalJSON(&stdout)
					require.NoError(t, err)
					require.NoError(t, s.Validate(doc))
				}
			}
		}
	})
}
