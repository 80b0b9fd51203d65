package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// runTool runs a command and returns its status and what it wrote.
func runTool(command func(string, []string, *bytes.Buffer, *bytes.Buffer) int, args ...string) (int, string, string) {
	var stdout, stderr bytes.Buffer
	status := command("x", args, &stdout, &stderr)
	return status, stdout.String(), stderr.String()
}

func annotates(name string, args []string, stdout, stderr *bytes.Buffer) int {
	return Annotate(name, args, stdout, stderr)
}

func merges(name string, args []string, stdout, stderr *bytes.Buffer) int {
	return Merge(name, args, stdout, stderr)
}

// sourceProfile writes a profile of one line in each of some sources.
func sourceProfile(t *testing.T, sources ...string) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("cmd: x\nevents: Ir\n")
	for _, s := range sources {
		fmt.Fprintf(&b, "fl=%s\nfn=f\n1 1\n", s)
	}
	fmt.Fprintf(&b, "summary: %d\n", len(sources))
	name := filepath.Join(t.TempDir(), "p")
	require.NoError(t, os.WriteFile(name, []byte(b.String()), 0o600))
	return name
}

// TestSourcesWithoutEnd has sources that are no sources. A file of /proc that waits for what the kernel says would be
// read for ever; that it is not read at all shows one that can be.
func TestSourcesWithoutEnd(t *testing.T) {
	for _, source := range []string{"/dev/zero", "/proc/self/limits"} {
		if _, err := os.Stat(source); err != nil {
			t.Skip(err)
		}
		for _, format := range []string{"text", "json"} {
			status, out, msg := runTool(annotates, "--format="+format, sourceProfile(t, source))
			require.Zero(t, status, msg)
			require.NotContains(t, out, "Max cpu time")
		}
	}
}

// TestOldFileStays has outputs that fail half way.
func TestOldFileStays(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	require.NoError(t, os.WriteFile(out, []byte("old"), 0o640))
	profile := sourceProfile(t, "none.c")
	for _, run := range []func() (int, string, string){
		func() (int, string, string) { return runTool(merges, "-o", out, profile, profile) },
		func() (int, string, string) { return runTool(annotates, "--html="+out, profile) },
	} {
		require.NoError(t, os.Chmod(dir, 0o700))
		before, err := os.Stat(out)
		require.NoError(t, err)
		status, _, msg := run()
		require.Zero(t, status, msg)
		after, err := os.Stat(out)
		require.NoError(t, err)
		require.False(t, os.SameFile(before, after), "written beside")
		require.Equal(t, os.FileMode(0o640), after.Mode().Perm())
		list, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Len(t, list, 1)
	}
	status, _, msg := runTool(merges, "-o", filepath.Join(dir, "no", "out"), profile)
	require.Equal(t, 1, status)
	require.Equal(t, "x: error: [Errno 2] No such file or directory: '"+filepath.Join(dir, "no", "out")+"'\n", msg)
	if _, err := os.Stat("/dev/full"); err == nil {
		status, _, msg = runTool(annotates, "--html=/dev/full", profile)
		require.Equal(t, 1, status)
		require.Equal(t, "x: error: [Errno 28] No space left on device: '/dev/full'\n", msg)
	}
}
