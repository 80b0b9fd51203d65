//go:build linux && amd64

package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/cgemu/cgemu"
	"github.com/cgemu/cgemu/cgout"
	"github.com/cgemu/cgemu/internal/browsertest"
)

func TestMain(m *testing.M) {
	testscript.Main(cleaned{browsertest.Suite{M: m}}, map[string]func(){"cgemu": cgemuMain, writerName: main, "cg_annotate": main, "cg_diff": main, "cg_merge": main})
}

// cgemuMain is main, but shows progress as often as the environment says: a test of that must not depend on how
// fast the host is.
func cgemuMain() {
	if d, err := time.ParseDuration(os.Getenv("TEST_PROGRESS")); err == nil {
		progressAfter, progressEvery = 0, d
	}
	main()
}

// TestScripts runs testdata/script: the command as its users see it.
func TestScripts(t *testing.T) {
	testdata, err := filepath.Abs("../../testdata")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			if cache, err := os.UserCacheDir(); err == nil {
				e.Setenv("GOCACHE", cmp.Or(os.Getenv("GOCACHE"), filepath.Join(cache, "go-build")))
			}
			e.Setenv("PATH", e.WorkDir+string(os.PathListSeparator)+e.Getenv("PATH"))
			for _, name := range []string{"guest", "dumps", "../dwarfmap/testdata/bin/inline5"} {
				data, err := os.ReadFile(filepath.Join(testdata, name))
				if err != nil {
					return err
				}
				if err := os.WriteFile(filepath.Join(e.WorkDir, filepath.Base(name)), data, 0o755); err != nil {
					return err
				}
			}
			return nil
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "race":
				b, _ := debug.ReadBuildInfo()
				return slices.Contains(b.Settings, debug.BuildSetting{Key: "-race", Value: "true"}), nil
			case "root":
				return os.Geteuid() == 0, nil
			case "unicorn":
				_, err := cgemu.FindEngine("unicorn")
				return err == nil, nil
			}
			return false, errors.New("unknown condition " + cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status": status0, "signalled": signalled, "profile": profile,
			"truncate": truncate, "poke": poke, "tinydisk": tinydisk, "fill": fill, "image": makeImage, "serve": serveFiles,
		},
	})
}

// serveFiles serves the files of a directory, and has DEBUGINFOD_URLS say where: serve DIR
func serveFiles(ts *testscript.TestScript, _ bool, args []string) {
	s := httptest.NewServer(http.FileServer(http.Dir(ts.MkAbs(args[0]))))
	ts.Defer(s.Close)
	ts.Setenv("DEBUGINFOD_URLS", s.URL)
}

// status0 runs a command and checks its exit status: status N COMMAND...
func status0(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	checkStatus(ts, want, ts.Exec(args[1], args[2:]...))
}

func checkStatus(ts *testscript.TestScript, want int, err error) {
	got := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// signalled runs a command until it writes a line, sends it a signal, and checks its exit
// status: signalled NAME STATUS COMMAND...
func signalled(ts *testscript.TestScript, _ bool, args []string) {
	sig, ok := map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP, "QUIT": syscall.SIGQUIT, "KILL": syscall.SIGKILL}[args[0]]
	if !ok {
		ts.Fatalf("no signal %s", args[0])
	}
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	cmd := exec.Command(args[2], args[3:]...)
	cmd.Dir = ts.Getenv("WORK")
	cmd.Env = append(os.Environ(), "PATH="+ts.Getenv("PATH"))
	if p, err := lookPath(ts, args[2]); err == nil {
		cmd.Path = p
	}
	cmd.Err = nil
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	var msgs bytes.Buffer
	cmd.Stderr = &msgs
	ts.Check(cmd.Start())
	_, err = bufio.NewReader(out).ReadString('\n')
	if err == nil {
		err = cmd.Process.Signal(sig)
	}
	if err != nil {
		cmd.Process.Kill()
	}
	io.Copy(io.Discard, out)
	waited := cmd.Wait()
	ts.Check(err)
	checkStatus(ts, want, waited)
	// For the commands that look at the last output.
	f := ts.MkAbs("signalled.stderr")
	ts.Check(os.WriteFile(f, msgs.Bytes(), 0o644))
	ts.Check(ts.Exec("sh", "-c", "cat signalled.stderr >&2"))
}

func lookPath(ts *testscript.TestScript, name string) (string, error) {
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		p := filepath.Join(dir, name)
		if _, err := os.Stat(p); err == nil {
			return p, nil
		}
	}
	return "", exec.ErrNotFound
}

// profile checks that files are whole profiles: profile FILE...
func profile(ts *testscript.TestScript, neg bool, args []string) {
	for _, name := range args {
		f, err := os.Open(ts.MkAbs(name))
		ts.Check(err)
		_, err = cgout.Read(name, f)
		f.Close()
		if (err != nil) != neg {
			ts.Fatalf("%s: %v", name, err)
		}
	}
}

// truncate cuts a file: truncate FILE SIZE
func truncate(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	ts.Check(os.Truncate(ts.MkAbs(args[0]), n))
}

// poke changes bytes of a file: poke FILE OFFSET HEX...
func poke(ts *testscript.TestScript, _ bool, args []string) {
	off, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	b, err := hex.DecodeString(strings.Join(args[2:], ""))
	ts.Check(err)
	f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_WRONLY, 0)
	ts.Check(err)
	_, err = f.WriteAt(b, off)
	ts.Check(err)
	ts.Check(f.Close())
}

// tinydisk mounts a file system that holds little: tinydisk DIR
func tinydisk(ts *testscript.TestScript, _ bool, args []string) {
	dir := ts.MkAbs(args[0])
	ts.Check(os.Mkdir(dir, 0o755))
	ts.Check(syscall.Mount("none", dir, "tmpfs", 0, "size=32k"))
	ts.Defer(func() { ts.Check(syscall.Unmount(dir, syscall.MNT_DETACH)) })
}

// fill writes a file until the disk is full: fill FILE
func fill(ts *testscript.TestScript, _ bool, args []string) {
	f, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	defer f.Close()
	for {
		if _, err := f.Write(make([]byte, 4096)); err != nil {
			if !errors.Is(err, syscall.ENOSPC) {
				ts.Fatalf("%v", err)
			}
			return
		}
	}
}
