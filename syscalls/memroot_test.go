//go:build linux && amd64

package syscalls_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/jit"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/syscalls"
	"github.com/cgemu/cgemu/syscalls/internal/host"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/vfs"
)

// smallDistribution is what overlayWork needs: programs, and directories of what these read.
var smallDistribution = struct{ programs, dirs []string }{
	[]string{
		"bash", "sh", "cat", "sort", "cp", "mv", "ln", "stat", "chmod", "touch", "find", "ls", "rm", "rmdir", "mkdir", "mkfifo", "dd", "wc", "truncate",
		"head", "tar", "diff", "true", "flock", "basename", "perl", "git", "grep", "gzip",
	},
	[]string{"/usr/lib/git-core", "/usr/share/git-core/templates", "/usr/lib/x86_64-linux-gnu/perl-base"},
}

// TestMemoryRoot has bash, coreutils, perl and git work in a root that is all in memory: a copy of a few programs of
// the host's and of what they need.
func TestMemoryRoot(t *testing.T) {
	if !oracles {
		t.Skip("with the tag oracles")
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "there"), []byte("before\n"), 0o644))
	env := []string{
		"PATH=/usr/bin:/bin", "LC_ALL=C", "TZ=UTC", "HOME=/nowhere", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_DATE=2020-01-01T00:00:00Z",
		"GIT_COMMITTER_DATE=2020-01-01T00:00:00Z",
	}
	args := []string{"/bin/bash", "-c", "cd " + dir + "\n" + overlayWork}
	var root *memRoot
	got, status := runKernel(t, func(c *syscalls.Config) {
		c.Path, c.Args, c.Env = args[0], args, env
		c.Files.NewRoot = func(o vfs.MemOptions) (vfs.FS, linux.Errno) {
			root = newMemRoot(t, o)
			root.fill(dir)
			return root.fs, 0
		}
	})
	want, wantStatus := nativeRun(t, args, env)
	require.Zero(t, wantStatus, want)
	require.Equal(t, want, got)
	require.Equal(t, wantStatus, status)
}

// runKernel runs a program without counting anything.
func runKernel(t *testing.T, change func(*syscalls.Config)) (string, int) {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	defer out.Close()
	in, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer in.Close()
	model, err := emu.ModelByName("v3")
	require.NoError(t, err)
	engine := func(m *mem.Space, env emu.Env) (emu.Engine, error) {
		return jit.New(m, emu.Config{Model: model, Env: env})
	}
	var log bytes.Buffer
	cfg := syscalls.Config{KernelConfig: syscalls.KernelConfig{
		NewEngine:  engine,
		ForkEngine: func(_ int, _ emu.Engine, m *mem.Space, env emu.Env) (emu.Engine, error) { return engine(m, env) },
		CPUID:      model.CPUID, CPUs: 1, Log: &log,
	}, Files: syscalls.FileConfig{Stdin: in, Stdout: out, Stderr: out, HostStdio: true}}
	change(&cfg)
	k, err := syscalls.New(cfg)
	require.NoError(t, err)
	defer k.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	exit, err := k.Run(ctx)
	require.NoError(t, err)
	require.Empty(t, log.String())
	b, err := os.ReadFile(out.Name())
	require.NoError(t, err)
	return string(b), exit.Status()
}

// A memRoot is a file system in memory that is filled with files of the host's.
type memRoot struct {
	t    *testing.T
	fs   *vfs.MemFS
	host *host.FS
	done map[string]bool
}

func newMemRoot(t *testing.T, o vfs.MemOptions) *memRoot {
	from, e := host.NewFS("/")
	require.Zero(t, e)
	return &memRoot{t, vfs.NewMemFS(o), from, map[string]bool{}}
}

// fill copies the distribution, and a directory.
func (r *memRoot) fill(dir string) {
	for _, p := range smallDistribution.programs {
		name, err := exec.LookPath(p)
		require.NoError(r.t, err)
		r.program(name)
	}
	for _, d := range append(smallDistribution.dirs, dir) {
		r.tree(d)
	}
	for _, p := range []string{"/bin/sh", "/usr/lib/git-core/git"} {
		r.program(p)
	}
	require.Zero(r.t, r.host.Close())
}

// program copies a program and the libraries that ldd(1) names.
func (r *memRoot) program(name string) {
	r.path(name)
	out, _ := exec.Command("ldd", name).Output() // it fails for scripts
	for f := range strings.FieldsSeq(string(out)) {
		if filepath.IsAbs(f) {
			r.path(f)
		}
	}
}

// path copies the file of a name, the directories above it, and what it is a link to.
func (r *memRoot) path(name string) {
	if r.done[name] || name == "/" {
		return
	}
	r.done[name] = true
	dir := filepath.Dir(name)
	r.path(dir)
	if real, err := filepath.EvalSymlinks(dir); err == nil && real != dir {
		r.path(filepath.Join(real, filepath.Base(name)))
		return
	}
	from, to := r.find(r.host.Root(), name), r.find(r.fs.Root(), dir)
	st, e := from.Stat()
	require.Zero(r.t, e, name)
	switch base := filepath.Base(name); st.Kind() {
	case linux.S_IFLNK:
		target, e := from.Readlink()
		require.Zero(r.t, e, name)
		_, e = to.Symlink(base, target)
		require.Zero(r.t, e, name)
		if !filepath.IsAbs(target) {
			target = filepath.Join(dir, target)
		}
		r.path(target)
	case linux.S_IFDIR:
		_, e := to.Create(base, st.Mode, 0)
		require.Zero(r.t, e, name)
	case linux.S_IFREG:
		h, e := to.CreateOpen(base, st.Mode, linux.O_WRONLY)
		require.Zero(r.t, e, name)
		b, err := os.ReadFile(name)
		require.NoError(r.t, err)
		for off := 0; off < len(b); {
			n, e := h.WriteAt(b[off:], int64(off))
			require.Zero(r.t, e, name)
			off += n
		}
		require.Zero(r.t, h.Close())
	}
}

// tree copies a directory and all below it.
func (r *memRoot) tree(dir string) {
	require.NoError(r.t, filepath.WalkDir(dir, func(name string, _ os.DirEntry, err error) error {
		r.path(name)
		return err
	}))
}

// find follows a path, but no link at its end.
func (r *memRoot) find(n vfs.Node, name string) vfs.Node {
	for c := range strings.SplitSeq(strings.Trim(name, "/"), "/") {
		if c == "" {
			break
		}
		next, e := n.Lookup(c)
		require.Zero(r.t, e, "%s in %s", c, name)
		n = next
	}
	return n
}
