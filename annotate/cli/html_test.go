package cli

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHTMLOption: to standard output, to a file, to where nothing can be written.
func TestHTMLOption(t *testing.T) {
	run := func(tool func(string, []string, io.Writer, io.Writer) int, args ...string) (int, string, string) {
		var stdout, stderr strings.Builder
		status := tool("cgemu x", args, &stdout, &stderr)
		return status, stdout.String(), stderr.String()
	}
	const oldFile, newFile = "testdata/html/old.out", "testdata/html/new.out"
	status, page, stderr := run(Annotate, "--html", newFile)
	require.Zero(t, status, stderr)
	require.True(t, strings.HasPrefix(page, "<!DOCTYPE html>"))
	require.True(t, strings.HasSuffix(page, "</html>\n"))

	file := filepath.Join(t.TempDir(), "a=b.html")
	before := runtime.GOMAXPROCS(1)
	status, stdout, stderr := run(Annotate, newFile, "--html="+file)
	runtime.GOMAXPROCS(before)
	require.Zero(t, status, stderr)
	require.Empty(t, stdout)
	written, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, page, string(written))

	status, stdout, stderr = run(Annotate, "--html="+filepath.Join(file, "x"), newFile)
	require.Equal(t, 1, status)
	require.Empty(t, stdout)
	require.Contains(t, stderr, "cgemu x: error: ")

	status, _, stderr = run(Annotate, "--asm", "--html="+file, newFile)
	require.Equal(t, 1, status)
	require.Contains(t, stderr, newFile+".insns: no such file or directory (cgemu --dump-instr=yes writes it)")

	_, byDiff, _ := run(Diff, "--html", oldFile, newFile)
	_, byAnnotate, _ := run(Annotate, "--diff", "--html", oldFile, newFile)
	require.Contains(t, byDiff, "Difference")
	data := func(page string) string {
		_, data, found := strings.Cut(page, `id="data">`)
		require.True(t, found)
		return data
	}
	require.Equal(t, data(byAnnotate), data(byDiff))
}
