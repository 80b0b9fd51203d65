package record_test

import (
	"archive/tar"
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/record"
	"github.com/cgemu/cgemu/syscalls/internal/vfs"
	"github.com/cgemu/cgemu/syscalls/internal/vfs/vfstest"
)

func user() vfs.MemOptions {
	return vfs.MemOptions{UID: 1000, GID: 1000, NewContent: vfs.MemContent}
}

// recorder makes a Recorder of what operations made in memory.
func recorder(t testing.TB, setup string) (*record.Recorder, vfs.FS, string) {
	name := filepath.Join(t.TempDir(), "run.tar")
	f, err := os.Create(name)
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	r, err := record.NewRecorder(f)
	require.NoError(t, err)
	lower := vfs.NewMemFS(user())
	vfstest.Run(lower, setup)
	fs, e := r.Wrap(lower)
	require.Zero(t, e)
	return r, fs, name
}

// replayed is what operations answer in a repetition of the run that an archive has, with what that lacked.
func replayed(t testing.TB, name, operations string) (answers, missing string) {
	rec, err := record.Open(name)
	require.NoError(t, err)
	defer rec.Close()
	fs, e := vfs.NewOverlay(user(), rec.FS(user()))
	require.Zero(t, e)
	return vfstest.Run(fs, operations), rec.Missing()
}

// TestScripts has a Recorder do what Linux does, and what lies over a Recording, too.
func TestScripts(t *testing.T) {
	for _, s := range vfstest.Scripts {
		t.Run(s.Name, func(t *testing.T) {
			r, fs, name := recorder(t, "")
			require.Empty(t, vfstest.Difference(s.Text, vfstest.Run(fs, s.Text)))
			require.NoError(t, r.Finish(nil))
			got, missing := replayed(t, name, s.Text)
			require.Empty(t, missing)
			require.Empty(t, vfstest.Difference(s.Text, got))
		})
	}
}

// TestRepeat divides scripts: what the first part made is there before, the second part is recorded, and answers the
// same in the repetition.
func TestRepeat(t *testing.T) {
	for _, s := range vfstest.Scripts {
		t.Run(s.Name, func(t *testing.T) {
			lines := strings.SplitAfter(s.Text, "\n")
			for i := range lines {
				repeat(t, strings.Join(lines[:i], ""), strings.Join(lines[i:], ""))
			}
		})
	}
}

// TestRepeatRandom does so with operations that a generator makes.
func TestRepeatRandom(t *testing.T) {
	for seed := range 300 {
		b := make([]byte, 1000)
		rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)}).Read(b)
		repeat(t, vfstest.Random(b[:400]), vfstest.Random(b[400:]))
	}
}

func repeat(t *testing.T, before, recorded string) {
	r, fs, name := recorder(t, before)
	want := vfstest.Run(fs, recorded)
	if err := r.Finish(nil); err != nil {
		require.Regexp(t, "is a FIFO|cannot be read", err.Error())
		return
	}
	got, missing := replayed(t, name, recorded)
	require.Empty(t, vfstest.Difference(want, got), "before:\n%s", before)
	require.Empty(t, missing, "before:\n%s\nrecorded:\n%s", before, want)
}

// TestSameBytes records twice.
func TestSameBytes(t *testing.T) {
	var archives [2][]byte
	for i := range archives {
		r, fs, name := recorder(t, "dir d 755\nfile d/a 644\nopen h d/a w\nwrite h 0 text\nsetx d/a user.b 1 0\nsetx d/a user.a 2 0\nsym s d\nfile d/z 600")
		vfstest.Run(fs, "ls d\nopen h d/a r\nread h 0 9\nlsx d/a\nreadlink s\nstat nothing\nrm d/z")
		require.NoError(t, r.Finish(map[string]string{"b": "1", "a": "2"}))
		var err error
		archives[i], err = os.ReadFile(name)
		require.NoError(t, err)
	}
	require.Equal(t, archives[0], archives[1])
	var names []string
	in := tar.NewReader(bytes.NewReader(archives[0]))
	for {
		h, err := in.Next()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		names = append(names, h.Name)
	}
	require.Equal(t, []string{"root/d/a", "files.jsonl", "manifest.json"}, names)
}

// TestMissing asks a repetition for what the recorded run did not look at.
func TestMissing(t *testing.T) {
	for op, missing := range map[string]string{
		"stat d/b": "/d/b", "ls d": "the list of /d", "open h d/a r": "what is in /d/a", "stat nothing": "", "stat d/a": "", "stat d/nothing/b": "/d/nothing", "ls e": "", "stat e/b": "",
	} {
		r, fs, name := recorder(t, "dir d 755\nfile d/a 644\nfile d/b 644\ndir e 755")
		vfstest.Run(fs, "stat d/a\nstat nothing\nls e")
		require.NoError(t, r.Finish(nil))
		_, got := replayed(t, name, op)
		require.Equal(t, missing, got, op)
	}
}

// TestOthers has others change a directory while it is recorded: the guest sees what was there first.
func TestOthers(t *testing.T) {
	name := filepath.Join(t.TempDir(), "run.tar")
	f, err := os.Create(name)
	require.NoError(t, err)
	defer f.Close()
	r, err := record.NewRecorder(f)
	require.NoError(t, err)
	lower := vfs.NewMemFS(user())
	vfstest.Run(lower, "dir d 755\nfile d/a 644\nfile d/b 644")
	fs, e := r.Wrap(lower)
	require.Zero(t, e)
	want := "stat d/late => ENOENT\nls d => [a:file b:file]\nstat d => dir 755\n"
	require.Equal(t, want, vfstest.Run(fs, want))
	vfstest.Run(lower, "file d/late 644\nfile d/later 644")
	want += "stat d/later => ENOENT\nfile d/own 644 => ok\nls d => [a:file b:file own:file]\n"
	require.Equal(t, want, vfstest.Run(fs, want))
	require.NoError(t, r.Finish(nil))
	got, missing := replayed(t, name, want)
	require.Equal(t, want, got)
	require.Empty(t, missing)
}

// TestNames has names and links that are not UTF-8, and what is odd in a tar file and in JSON.
func TestNames(t *testing.T) {
	long := strings.Repeat("x", 250)
	names := []string{"a\xff%41", "quote\"\\<&>", "line\nfeed", "\u2028é", "%", long, " ", "...", "trailing "}
	name := filepath.Join(t.TempDir(), "run.tar")
	f, err := os.Create(name)
	require.NoError(t, err)
	defer f.Close()
	r, err := record.NewRecorder(f)
	require.NoError(t, err)
	lower := vfs.NewMemFS(user())
	for _, n := range names {
		dir, e := lower.Root().Create(n, linux.S_IFDIR|0o755, 0)
		require.Zero(t, e)
		h, e := dir.CreateOpen(n, 0o644, linux.O_RDWR)
		require.Zero(t, e)
		_, e = h.WriteAt([]byte(n), 0)
		require.Zero(t, e)
		_, e = dir.Symlink("to", n)
		require.Zero(t, e)
	}
	read := func(fs vfs.FS) (out []string) {
		for _, n := range names {
			dir, e := fs.Root().Lookup(n)
			require.Zero(t, e, "%q", n)
			file, e := dir.Lookup(n)
			require.Zero(t, e)
			h, e := file.Open(linux.O_RDONLY)
			require.Zero(t, e)
			b := make([]byte, 300)
			got, e := h.ReadAt(b, 0)
			require.Zero(t, e)
			link, e := dir.Lookup("to")
			require.Zero(t, e)
			to, e := link.Readlink()
			require.Zero(t, e)
			out = append(out, string(b[:got]), to)
		}
		return out
	}
	fs, e := r.Wrap(lower)
	require.Zero(t, e)
	want := read(fs)
	require.NoError(t, r.Finish(nil))
	rec, err := record.Open(name)
	require.NoError(t, err)
	defer rec.Close()
	over, e := vfs.NewOverlay(user(), rec.FS(user()))
	require.Zero(t, e)
	require.Equal(t, want, read(over))
	require.Empty(t, rec.Missing())
}

// TestDevices lists a directory with a device, at which the guest does not look. An overlay takes one with the number 0
// for a name that was removed.
func TestDevices(t *testing.T) {
	name := filepath.Join(t.TempDir(), "run.tar")
	f, err := os.Create(name)
	require.NoError(t, err)
	defer f.Close()
	r, err := record.NewRecorder(f)
	require.NoError(t, err)
	o := user()
	o.Privileged = true
	lower := vfs.NewMemFS(o)
	_, e := lower.Root().Create("tty9", linux.S_IFCHR|0o600, 0x409)
	require.Zero(t, e)
	fs, e := r.Wrap(lower)
	require.Zero(t, e)
	require.Contains(t, vfstest.Run(fs, "ls /"), "tty9")
	require.NoError(t, r.Finish(nil))
	got, missing := replayed(t, name, "ls /")
	require.Contains(t, got, "tty9")
	require.Empty(t, missing)
}
