//go:build linux && amd64

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/internal/testhost"
)

// A viewed is a command whose run is shown.
type viewed struct {
	*exec.Cmd
	url    string
	stderr *bufio.Reader
}

// startViewed starts `cgemu --view` with more arguments.
func startViewed(t *testing.T, args ...string) *viewed {
	self, err := os.Executable()
	require.NoError(t, err)
	dir := t.TempDir()
	link := filepath.Join(dir, "cgemu")
	require.NoError(t, os.Symlink(self, link)) // by this name the test's program is the command: see TestMain
	v := &viewed{Cmd: exec.Command(link, append([]string{"--view"}, args...)...)}
	v.Dir = dir
	stderr, err := v.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, v.Start())
	t.Cleanup(func() { v.Process.Kill(); v.Wait() })
	v.stderr = bufio.NewReader(stderr)
	v.url = v.says(t, `^cgemu: watch the run at (http://127\.0\.0\.1:\d+/)\n$`)
	return v
}

// says reads messages until one matches, and returns what the expression's group is.
func (v *viewed) says(t *testing.T, pattern string) string {
	re := regexp.MustCompile(pattern)
	for {
		line, err := v.stderr.ReadString('\n')
		require.NoError(t, err, "no message like %s", pattern)
		if m := re.FindStringSubmatch(line); m != nil {
			return m[len(m)-1]
		}
	}
}

// A pageCounts is what tests look at of the page's data.
type pageCounts struct {
	Total []float64
	Live  struct {
		Version       int
		Running, Stop bool
	}
}

func (v *viewed) counts(t *testing.T) (c pageCounts) {
	res, err := http.Get(v.url + "data?v=-1")
	require.NoError(t, err)
	defer res.Body.Close()
	require.NoError(t, json.NewDecoder(res.Body).Decode(&c))
	return c
}

// TestView watches a program that never ends, stops it on the page, and reads its profile.
func TestView(t *testing.T) {
	testhost.RequireLoopback(t)
	guest, err := filepath.Abs("../../testdata/guest")
	require.NoError(t, err)
	v := startViewed(t, "--call-graph=yes", "--callgrind-out-file=p", guest, "loop")
	first := v.counts(t)
	require.True(t, first.Live.Running)
	require.True(t, first.Live.Stop)
	last := first
	for deadline := time.Now().Add(time.Minute); last.Total[0] <= first.Total[0]; last = v.counts(t) {
		require.True(t, time.Now().Before(deadline), "counts do not grow")
		time.Sleep(50 * time.Millisecond)
	}
	req, err := http.NewRequest("POST", v.url+"stop", nil)
	require.NoError(t, err)
	req.Header.Set("Origin", strings.TrimSuffix(v.url, "/"))
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	res.Body.Close()
	require.Equal(t, http.StatusNoContent, res.StatusCode)
	v.says(t, `^cgemu: the run has ended; `)
	end := v.counts(t)
	require.False(t, end.Live.Running)
	require.GreaterOrEqual(t, end.Total[0], last.Total[0])
	profile, err := os.ReadFile(filepath.Join(v.Dir, "p"))
	require.NoError(t, err)
	total := regexp.MustCompile(`\ntotals: (\d+)\n`).FindSubmatch(profile)
	require.Equal(t, jsonNumber(t, end.Total[0]), string(total[1]))
	require.NoError(t, v.Process.Signal(os.Interrupt))
	io.Copy(io.Discard, v.stderr)
	require.Equal(t, 130, exitCode(v.Wait()), "as Ctrl-C in place of the page's button")
}

func jsonNumber(t *testing.T, n float64) string {
	b, err := json.Marshal(n)
	require.NoError(t, err)
	return string(b)
}

func exitCode(err error) int {
	if exit, ok := err.(*exec.ExitError); ok {
		return exit.ExitCode()
	}
	return 0
}

// TestViewEnds: a program that ends is shown until a signal; the profile is that of a run that nobody watched, and so
// is the exit status.
func TestViewEnds(t *testing.T) {
	testhost.RequireLoopback(t)
	guest, err := filepath.Abs("../../testdata/guest")
	require.NoError(t, err)
	v := startViewed(t, "--cachegrind-out-file=p", guest, "exit", "3")
	v.says(t, `^cgemu: the run has ended; `)
	shown := v.counts(t)
	require.False(t, shown.Live.Running)
	require.NoError(t, v.Process.Signal(syscall.SIGTERM))
	io.Copy(io.Discard, v.stderr)
	require.Equal(t, 3, exitCode(v.Wait()))
	watched, err := os.ReadFile(filepath.Join(v.Dir, "p"))
	require.NoError(t, err)
	plain := exec.Command(v.Path, "-q", "--cachegrind-out-file=q", guest, "exit", "3")
	plain.Dir = v.Dir
	require.Equal(t, 3, exitCode(plain.Run()))
	unwatched, err := os.ReadFile(filepath.Join(v.Dir, "q"))
	require.NoError(t, err)
	require.True(t, bytes.Equal(unwatched, watched))
}
