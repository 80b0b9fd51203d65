//go:build linux && amd64

package syscalls_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu"
)

// compileC compiles a C program, or ends the test where there is no compiler.
func compileC(t testing.TB, src string, flags ...string) (prog string) {
	t.Helper()
	prog = filepath.Join(t.TempDir(), "prog")
	out, err := exec.Command(tool(t, "gcc"), append(flags, "-w", "-pthread", "-o", prog, src)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return prog
}

// TestDeadlockReport runs programs that wait for ever: cgemu says where each thread waits, and in what.
func TestDeadlockReport(t *testing.T) {
	const src = "testdata/deadlock/deadlock.c"
	prog := compileC(t, src, "-g", "-O1", "-fno-inline")
	text, err := os.ReadFile(src)
	require.NoError(t, err)
	// line returns the number of the line with a comment `line NAME`.
	line := func(name string) string {
		before, _, found := strings.Cut(string(text), "// line "+name+"\n")
		require.True(t, found, name)
		return fmt.Sprint(strings.Count(before, "\n") + 1)
	}
	for name, want := range map[string][][2]string{ // the call, and the line of one who made it
		"mutexes": {
			{`1000 of process 1000 (prog) waits in futex\(0x[0-9a-f]+, FUTEX_WAIT_PRIVATE, 2, NULL\)`, "mutexes"},
			{`1001 of process 1000 (prog) waits in futex\(0x[0-9a-f]+, FUTEX_WAIT_PRIVATE, 2, NULL\)`, "second"},
		},
		"pipe": {{`1000 of process 1000 (prog) waits in read\(3, 0x[0-9a-f]+, 1\)`, "ownpipe"}},
		"join": {
			{`1000 of process 1000 (prog) waits in futex\(.*, 1001, .*\)`, "joiner"},
			{`1001 of process 1000 (prog) waits in futex\(.*, 1002, .*\)`, "joiner"},
			{`1002 of process 1000 (prog) waits in futex\(.*, 1000, .*\)`, "joiner"},
		},
		"futex": {{`1000 of process 1000 (prog) waits in futex\(0x[0-9a-f]+, FUTEX_WAIT, 0, NULL\)`, "futex"}},
		"processes": {
			{`1000 of process 1000 (prog) waits in read\(5, 0x[0-9a-f]+, 1\)`, "parent"},
			{`1001 of process 1001 (prog) waits in read\(3, 0x[0-9a-f]+, 1\)`, "child"},
		},
		"stopped": {
			{`1000 of process 1000 (prog) waits in wait4\(1001, NULL, 0, NULL\)`, "waits"},
			{`1001 of process 1001 (prog) is stopped by SIGSTOP`, "stopped"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var logs [2]string
			for i := range logs {
				var log bytes.Buffer
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				defer cancel()
				null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
				require.NoError(t, err)
				defer null.Close()
				res, err := cgemu.Run(ctx, cgemu.Config{
					Path: prog, Args: []string{prog, name}, Stdin: null, Stdout: null, Stderr: null, Log: &log, Engine: *engineName,
				})
				require.NoError(t, err)
				assert.True(t, res.Exit.Deadlock)
				assert.Equal(t, 137, res.Exit.Status())
				logs[i] = log.String()
			}
			assert.Equal(t, logs[0], logs[1])
			threads := strings.Split(logs[0], "cgemu: deadlock: ")[1:]
			require.Len(t, threads, 1+len(want))
			assert.Regexp(t, `^nothing can wake any thread; `, threads[0])
			for i, w := range want {
				assert.Regexp(t, "^thread "+strings.ReplaceAll(w[0], "(prog)", `\(prog\)`)+"\n", threads[i+1])
				assert.Regexp(t, `\ncgemu:     at 0x[0-9a-f]+: [a-zA-Z_].*\+0x[0-9a-f]+`, threads[i+1])
				assert.Regexp(t, `\ncgemu:     by 0x[0-9a-f]+: [a-zA-Z_]+\+0x[0-9a-f]+ \(.*deadlock\.c:`+line(w[1])+`\)\n`, threads[i+1])
			}
		})
	}
}
