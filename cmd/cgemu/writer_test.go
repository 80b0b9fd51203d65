//go:build linux && amd64

package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// temporary is the number in a temporary file's name.
var temporary = regexp.MustCompile(`[0-9]+\.tmp`)

// TestConfinedProfiles checks that a confined run leaves what another leaves: of all processes, by line and by
// instruction, wherever profiles go.
func TestConfinedProfiles(t *testing.T) {
	needWalls(t)
	bin, err := escapist()
	require.NoError(t, err)
	guest, err := filepath.Abs("../../testdata/guest")
	require.NoError(t, err)
	dumps, err := filepath.Abs("../../testdata/dumps")
	require.NoError(t, err)
	for _, args := range [][]string{
		{guest, "a"},
		{"--dump-instr=yes", guest, "a"},
		{"--cachegrind-out-file=out", guest},
		{"--cachegrind-out-file=out%%%q{NAME}%p", guest},
		{"--cachegrind-out-file=/dev/stdout", guest},
		{"--cachegrind-out-file=/dev/fd/1", guest},
		{"--verify", guest},
		{"--cache-sim=yes", dumps},
		{"/bin/sh", "-c", "/bin/ls /; /bin/ls /etc"},
		{"--cachegrind-out-file=out", "/bin/sh", "-c", "/bin/ls /; /bin/ls /etc"},
		{"--log-file=log", guest},
		{"--cachegrind-out-file=/none/out", guest},
		{"--cachegrind-out-file=.", guest},
	} {
		t.Run(strings.Join(args[:len(args)-1], " "), func(t *testing.T) {
			left := func(options ...string) (files map[string]string, out string) {
				dir := t.TempDir()
				cmd := exec.Command(bin, append(options, args...)...)
				cmd.Dir, cmd.Env = dir, append(os.Environ(), "NAME=n")
				b, err := cmd.CombinedOutput()
				files = map[string]string{}
				entries, readErr := os.ReadDir(dir)
				require.NoError(t, readErr)
				for _, e := range entries {
					text, err := os.ReadFile(filepath.Join(dir, e.Name()))
					require.NoError(t, err)
					info, err := e.Info()
					require.NoError(t, err)
					files[e.Name()+" "+info.Mode().String()] = string(text)
				}
				status := "ended well: "
				if err != nil {
					status = err.Error() + ": "
				}
				return files, status + temporary.ReplaceAllString(string(b), "")
			}
			want, wantOut := left()
			got, gotOut := left("--sandbox")
			require.Equal(t, want, got)
			require.Equal(t, wantOut, gotOut)
		})
	}
}

// TestWriterCleans checks that what the guest had in /dev/shm goes even if cgemu is killed.
func TestWriterCleans(t *testing.T) {
	root := needWalls(t)
	bin, err := escapist()
	require.NoError(t, err)
	if out, err := exec.Command("gcc", "-static", "-o", root+"/waits", "testdata/waits.c").CombinedOutput(); err != nil {
		t.Skipf("%v: %s", err, out)
	}
	dir := t.TempDir()
	cmd := exec.Command(bin, "-q", "--sandbox", root+"/waits")
	cmd.Dir = dir
	// The directory for the guest's /dev/shm is in the first of these that there is.
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	ours := func() (n int) {
		for _, at := range []string{"/dev/shm", dir} {
			found, err := filepath.Glob(at + "/cgemu-*/shm/left-by-the-guest-*")
			require.NoError(t, err)
			n += len(found)
		}
		return n
	}
	before := ours()
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, before+1, ours())
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	require.Eventually(t, func() bool { return ours() == before }, time.Minute, 10*time.Millisecond)
}

// TestReadRequest checks that the writer takes no more than it gets, whatever it is told.
func TestReadRequest(t *testing.T) {
	message := func(h header, rest string) *bytes.Buffer {
		var b bytes.Buffer
		require.NoError(t, binary.Write(&b, binary.LittleEndian, h))
		b.WriteString(rest)
		return &b
	}
	r, err := readRequest(message(header{PID: 1, Profile: 3, Insns: 2}, "abcde"))
	require.NoError(t, err)
	require.Equal(t, "abc", string(r.profile))
	require.Equal(t, "de", string(r.insns))
	r, err = readRequest(message(header{PID: 1, Profile: 3, Insns: -1}, "abcde"))
	require.NoError(t, err)
	require.Empty(t, r.insns)
	for _, h := range []header{{PID: noProcess}, {Profile: 1 << 62}, {Profile: 5, Insns: 1 << 62}} {
		_, err = readRequest(message(h, "abcde"))
		require.Error(t, err)
	}
	_, err = readRequest(strings.NewReader("short"))
	require.Error(t, err)
	require.Equal(t, exitFailed, writerMain(nil))
}

// TestConfinedPrograms runs programs that ask much of the host, with both walls around all that there is: the second
// must not refuse what the first does.
func TestConfinedPrograms(t *testing.T) {
	dir := needWalls(t)
	bin, err := escapist()
	require.NoError(t, err)
	for _, name := range []string{"xattr", "fifos", "unix", "processes", "pty", "splicing", "inotify", "memory"} {
		t.Run(name, func(t *testing.T) {
			program := filepath.Join(dir, name)
			build := exec.Command("gcc", "-w", "-O1", "-static", "-pthread", "-o", program, "../../syscalls/testdata/guest/"+name+".c")
			if out, err := build.CombinedOutput(); err != nil {
				t.Skipf("%v: %s", err, out)
			}
			run := func(options ...string) string {
				cmd := exec.Command(bin, append(options, "-q", "--cachegrind-out-file=/dev/null", program)...)
				cmd.Dir = t.TempDir()
				out, _ := cmd.CombinedOutput()
				return string(out) + cmd.ProcessState.String()
			}
			require.Equal(t, run(), run("--root=/"))
		})
	}
}
