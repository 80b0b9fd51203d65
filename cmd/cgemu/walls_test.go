//go:build linux && amd64

package main

import (
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/cgemu/cgemu/internal/browsertest"
	"github.com/cgemu/cgemu/internal/image/imagetest"
	"github.com/cgemu/cgemu/internal/sandbox"
)

// escapist is a cgemu that tries to escape (escapes_unsafe.go), built as those that users get are: without cgo.
var escapist = sync.OnceValues(func() (string, error) {
	var err error
	if escapistDir, err = os.MkdirTemp("", "cgemu-escapes-"); err != nil {
		return "", err
	}
	bin := filepath.Join(escapistDir, "cgemu")
	build := exec.Command("go", "build", "-trimpath", "-tags", "escapes", "-o", bin, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return bin, nil
})

var escapistDir string

// A cleaned runs the tests and removes what they have built for all.
type cleaned struct{ browsertest.Suite }

func (m cleaned) Run() int {
	defer func() { os.RemoveAll(escapistDir) }()
	return m.Suite.Run()
}

// An outdoors is what a guest shall not get at: files, and sockets on which somebody listens.
type outdoors struct {
	dir, port string
	met       chan string // who was reached
}

// newOutdoors makes one with n files.
func newOutdoors(t *testing.T, n int) *outdoors {
	dir, err := os.MkdirTemp("/tmp", "cgemu-outdoors-") // names of sockets have 108 bytes at most
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	require.NoError(t, os.Mkdir(dir+"/dir", 0o755))
	require.NoError(t, syscall.Mkfifo(dir+"/fifo", 0o600))
	for i := range n {
		require.NoError(t, os.WriteFile(fmt.Sprintf("%s/f%d", dir, i), []byte("text"), 0o644))
	}
	o := &outdoors{dir: dir, met: make(chan string, 100)}
	for _, at := range [][2]string{{"unix", dir + "/sock"}, {"unix", "@" + dir}, {"tcp", "127.0.0.1:0"}} {
		l, err := net.Listen(at[0], at[1])
		require.NoError(t, err)
		t.Cleanup(func() { l.Close() })
		if a, ok := l.Addr().(*net.TCPAddr); ok {
			o.port = fmt.Sprint(a.Port)
		}
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				o.met <- at[0]
				c.Close()
			}
		}()
	}
	return o
}

// look describes all that is there.
func (o *outdoors) look(t *testing.T) string {
	var b strings.Builder
	require.NoError(t, filepath.WalkDir(o.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %o %d %d %d %d %d", path, st.Mode, st.Uid, st.Gid, st.Nlink, st.Size, st.Mtim.Nano())
		if d.Type().IsRegular() {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			list := make([]byte, 1000)
			n, _ := unix.Llistxattr(path, list)
			fmt.Fprintf(&b, " %q %q", text, list[:max(n, 0)])
		}
		b.WriteByte('\n')
		return nil
	}))
	return b.String()
}

// run runs the escapist with options for CGEMU_ESCAPE=mode, and returns what it wrote.
func (o *outdoors) run(t *testing.T, mode, kinds, within string, args ...string) string {
	bin, err := escapist()
	require.NoError(t, err)
	cmd := exec.Command(bin, args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "CGEMU_ESCAPE="+mode, "CGEMU_KINDS="+kinds, "CGEMU_OUTSIDE="+o.dir, "CGEMU_INSIDE="+within, "CGEMU_PORT="+o.port)
	// Descriptor 60 is the directory.
	given, err := os.Open(o.dir)
	require.NoError(t, err)
	defer given.Close()
	cmd.ExtraFiles = make([]*os.File, 58)
	cmd.ExtraFiles[57] = given
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	require.NoError(t, err, "%s", out)
	return string(out)
}

// needWalls skips the test on a host without the second wall, and returns the directory of a root with a program.
func needWalls(t *testing.T) string {
	bin, err := escapist()
	require.NoError(t, err)
	root := t.TempDir()
	copyFile(t, "../../testdata/guest", root+"/guest")
	out, err := exec.Command(bin, "-q", "--sandbox", "--cachegrind-out-file=/dev/null", root+"/guest").CombinedOutput()
	if strings.Contains(string(out), "--sandbox: ") {
		t.Skipf("%s", out)
	}
	require.NoError(t, err, "%s", out)
	return root
}

// hasRoot reports whether an option makes the guest's "/" another one.
func hasRoot(arg string) bool {
	return strings.HasPrefix(arg, "--root") || strings.HasPrefix(arg, "--image")
}

// imageOf makes an archive of a root directory with a program in it.
func imageOf(t *testing.T, program string) string {
	b, err := os.ReadFile(program)
	require.NoError(t, err)
	name := filepath.Join(t.TempDir(), "image.tar")
	require.NoError(t, os.WriteFile(name, imagetest.Tar(imagetest.File(filepath.Base(program), string(b), 0o755)), 0o644))
	return name
}

func copyFile(t *testing.T, from, to string) {
	b, err := os.ReadFile(from)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to, b, 0o755))
}

var outcome = regexp.MustCompile(`(?m)^(\w) (.*): (ESCAPED|held: .*)$`)

// TestPolicyIsolate: what --isolate shows the guest may be read, wherever its other files come from.
func TestPolicyIsolate(t *testing.T) {
	for _, o := range []options{{root: "top"}, {image: "image.tar"}} {
		o.isolate, o.overlay = "work", true
		require.Contains(t, o.policy("").Rules, sandbox.Rule{Path: "work", Access: sandbox.Read})
	}
}

// TestSecondWall has cgemu itself make the host's system calls that lead out, as a guest could that had got out of its
// own.
func TestSecondWall(t *testing.T) {
	root := needWalls(t)
	for _, c := range []struct {
		name, kinds string
		inside      bool
		args        []string
	}{
		{"root", "rwpn", true, []string{"--root=" + root}},
		{"root, read-only", "rwpn", false, []string{"--root=" + root, "--read-only"}},
		{"read-only", "wpn", false, []string{"--read-only"}},
		{"sandbox", "wpn", false, []string{"--sandbox"}},
		{"network", "w", false, []string{"--read-only", "--network=host"}},
		{"image", "rwpn", false, []string{"--image=" + imageOf(t, root+"/guest")}},
		{"image, sandbox", "rwpn", false, []string{"--image=" + imageOf(t, root+"/guest"), "--sandbox"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := newOutdoors(t, 200)
			within := ""
			if c.inside {
				within = root
			}
			before := o.look(t)
			program := root + "/guest"
			if hasRoot(c.args[0]) {
				program = "/guest"
			}
			out := o.run(t, "inside", c.kinds, within, append(c.args, program)...)
			tried := outcome.FindAllStringSubmatch(out, -1)
			require.Greater(t, len(tried), 40)
			for _, one := range tried {
				require.True(t, strings.HasPrefix(one[3], "held"), one[0])
			}
			require.Equal(t, before, o.look(t))
			require.Empty(t, o.met)
		})
	}
}

// TestGuestEscapes has a guest try to get out by its own system calls: with both walls, and with the second alone.
func TestGuestEscapes(t *testing.T) {
	root := needWalls(t)
	if out, err := exec.Command("gcc", "-O1", "-static", "-pthread", "-o", root+"/escapes", "testdata/escapes.c").CombinedOutput(); err != nil {
		t.Skipf("%v: %s", err, out)
	}
	// Without a wall, most of them do what they try.
	o := newOutdoors(t, 200)
	out := o.run(t, "", "", "", "-q", root+"/escapes", "rw", o.dir, o.dir, o.port)
	require.Greater(t, strings.Count(out, "ESCAPED"), 55)

	for _, c := range []struct {
		name, kinds string
		args        []string
	}{
		{"root", "rwn", []string{"--root=" + root}},
		{"root, read-only", "rwn", []string{"--root=" + root, "--read-only"}},
		{"read-only", "wn", []string{"--read-only"}},
		{"sandbox", "wn", []string{"--sandbox"}},
		{"image", "rwn", []string{"--image=" + imageOf(t, root+"/escapes")}},
		{"bind, read-only", "wn", []string{"--overlay", "--bind=OUTSIDE:ro"}},
	} {
		for _, mode := range []string{"", "second"} {
			if mode != "" && (strings.HasPrefix(c.args[0], "--image") || c.args[0] == "--overlay") {
				continue // nothing of the host's can be run behind the second wall, or much may be read
			}
			t.Run(c.name+" "+mode, func(t *testing.T) {
				o := newOutdoors(t, 200)
				before := o.look(t)
				program, inside := root+"/escapes", root
				if mode == "" && hasRoot(c.args[0]) {
					program, inside = "/escapes", ""
				}
				args := append(c.args, "-q", program, c.kinds, o.dir, inside, o.port)
				for i, a := range args {
					args[i] = strings.ReplaceAll(a, "OUTSIDE", o.dir)
				}
				tried := outcome.FindAllStringSubmatch(o.run(t, mode, "", "", args...), -1)
				require.Greater(t, len(tried), 55)
				for _, one := range tried {
					require.True(t, strings.HasPrefix(one[3], "held"), one[0])
				}
				require.Equal(t, before, o.look(t))
				require.Empty(t, o.met)
			})
		}
	}
}

// TestEscapesAreReal makes the same calls without a wall: most of them do what they try.
func TestEscapesAreReal(t *testing.T) {
	o := newOutdoors(t, 200)
	out := o.run(t, "control", "rwn", o.dir)
	done := map[string]int{}
	for _, one := range outcome.FindAllStringSubmatch(out, -1) {
		if one[3] == "ESCAPED" {
			done[one[1]]++
		}
	}
	require.GreaterOrEqual(t, done["r"], 12)
	require.GreaterOrEqual(t, done["w"], 35)
	require.GreaterOrEqual(t, done["n"], 5)
	require.Eventually(t, func() bool { return len(o.met) > 0 }, time.Minute, time.Millisecond)
}
