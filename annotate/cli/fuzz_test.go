package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"
)

// FuzzReport renders profiles: no input makes the commands panic, or print
// nothing and call it a success.
func FuzzReport(f *testing.F) {
	files, _ := filepath.Glob("testdata/golden/parse-*.txtar")
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, member := range archive.Files {
			if member.Name == "cg.out" {
				f.Add(member.Data, "--threshold=0")
			}
		}
	}
	f.Add([]byte("cmd: x\nevents: A B\nfl=fuzz_test.go\nfn=f\n3 1 2\n0 5 -5\n99999999999999999999 1 1\nsummary: 7 -2\n"), "--context=-3")
	f.Fuzz(func(t *testing.T, data []byte, option string) {
		if len(option) == 0 || option[0] != '-' {
			return // a file name: might be anything
		}
		path := filepath.Join(t.TempDir(), "p")
		require.NoError(t, os.WriteFile(path, data, 0o600))
		for _, run := range []func(stdout, stderr *bytes.Buffer) int{
			func(o, e *bytes.Buffer) int { return Annotate("x", []string{option, path}, o, e) },
			func(o, e *bytes.Buffer) int { return Annotate("x", []string{"--diff", path, path}, o, e) },
			func(o, e *bytes.Buffer) int { return Diff("x", []string{path, path}, o, e) },
			func(o, e *bytes.Buffer) int { return Merge("x", []string{path, path}, o, e) },
		} {
			var stdout, stderr bytes.Buffer
			status := run(&stdout, &stderr)
			require.Contains(t, []int{0, 1, 2}, status)
			if status == 0 {
				require.NotZero(t, stdout.Len())
				require.Zero(t, stderr.Len())
			} else {
				require.Contains(t, stderr.String(), "x: error: ")
			}
		}
	})
}
