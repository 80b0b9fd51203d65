//go:build linux && amd64

package cgemu_test

import (
	"archive/tar"
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu"
)

// recordGuest records a copy of testdata/guest, which is gone then, and returns the recording's file, with what the run
// left.
func recordGuest(t *testing.T, args ...string) (name string, res *cgemu.Result, stdout string) {
	dir := t.TempDir()
	program, err := os.ReadFile("testdata/guest")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "guest"), program, 0o700))
	name = filepath.Join(t.TempDir(), "run.tar")
	f, err := os.Create(name)
	require.NoError(t, err)
	defer f.Close()
	var out bytes.Buffer
	res, err = cgemu.Run(context.Background(), cgemu.Config{
		Path: filepath.Join(dir, "guest"), Args: append([]string{"guest"}, args...), Env: []string{"A=\xff%"}, Seed: 3, CPUs: 2,
		Stdin: strings.NewReader("input"), Stdout: &out, Record: &cgemu.Recorder{File: f, Version: "v", Options: []string{"o"}},
	})
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(dir))
	return name, res, out.String()
}

// TestRecording records a run and repeats it twice, by the package's API.
func TestRecording(t *testing.T) {
	name, want, wantOut := recordGuest(t, "one", "two")
	r, err := cgemu.OpenRecording(name)
	require.NoError(t, err)
	defer r.Close()
	require.Equal(t, "v", r.Version())
	require.Equal(t, []string{"o"}, r.Options())
	require.Equal(t, cgemu.CountingRules, r.Rules())
	for range 2 {
		cfg := r.Config()
		require.Equal(t, []string{"guest", "one", "two"}, cfg.Args)
		require.Equal(t, []string{"A=\xff%"}, cfg.Env)
		var out bytes.Buffer
		cfg.Stdout = &out
		got, err := cgemu.Run(context.Background(), cfg)
		require.NoError(t, err)
		require.Equal(t, wantOut, out.String())
		require.Equal(t, want.Exit, got.Exit)
		require.Equal(t, text(t, want), text(t, got))
	}
}

// TestRecordingRefused has configurations that do not go with a recording.
func TestRecordingRefused(t *testing.T) {
	name, _, _ := recordGuest(t)
	r, err := cgemu.OpenRecording(name)
	require.NoError(t, err)
	defer r.Close()
	for want, change := range map[string]func(*cgemu.Config){
		"the host's time":   func(c *cgemu.Config) { c.RealTime = true },
		"another network":   func(c *cgemu.Config) { c.Network = "host" },
		"files of the host": func(c *cgemu.Config) { c.Root = "/" },
		"HostStdio":         func(c *cgemu.Config) { c.HostStdio = true },
		"being made":        func(c *cgemu.Config) { c.Record = &cgemu.Recorder{} },
	} {
		cfg := r.Config()
		change(&cfg)
		_, err := cgemu.Run(context.Background(), cfg)
		require.ErrorContains(t, err, want)
	}
}

// TestLeftRecording repeats a run with another argument: it asks for a file that the recorded run did not look at.
func TestLeftRecording(t *testing.T) {
	name := filepath.Join(t.TempDir(), "run.tar")
	f, err := os.Create(name)
	require.NoError(t, err)
	defer f.Close()
	cfg := cgemu.Config{Path: "/bin/sh", Args: []string{"sh", "-c", "test -e /$0", "nothing"}, Record: &cgemu.Recorder{File: f}}
	res, err := cgemu.Run(context.Background(), cfg)
	require.NoError(t, err)
	require.Equal(t, 1, res.Exit.Status())
	r, err := cgemu.OpenRecording(name)
	require.NoError(t, err)
	defer r.Close()
	cfg = r.Config()
	res, err = cgemu.Run(context.Background(), cfg)
	require.NoError(t, err)
	require.Equal(t, 1, res.Exit.Status())
	cfg.Args[3] = "other"
	_, err = cgemu.Run(context.Background(), cfg)
	require.EqualError(t, err, "the run left its recording: it asked for /other, and the recorded run did not")
}

// TestHostileRun has recordings whose last member says what no cgemu does.
func TestHostileRun(t *testing.T) {
	name, _, _ := recordGuest(t)
	for want, run := range map[string]string{
		"there is no program": `{}`, "the recorded run": `7`, "5000 CPUs": `{"args":["a"],"cpus":5000}`, "two digits": `{"args":["%"]}`,
	} {
		changed := filepath.Join(t.TempDir(), "run.tar")
		require.NoError(t, os.WriteFile(changed, withRun(t, name, run), 0o600))
		_, err := cgemu.OpenRecording(changed)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, changed)
	}
}

// withRun is a recording with another text for what the run depends on.
func withRun(t *testing.T, name, run string) []byte {
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	var out bytes.Buffer
	w, in := tar.NewWriter(&out), tar.NewReader(bytes.NewReader(b))
	for {
		h, err := in.Next()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		text, err := io.ReadAll(in)
		require.NoError(t, err)
		if h.Name == "manifest.json" {
			text = []byte(`{"format":1,"system":{"stdin":{"kind":"null"}},"run":` + run + `}`)
			h.Size = int64(len(text))
		}
		require.NoError(t, w.WriteHeader(h))
		_, err = w.Write(text)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}
