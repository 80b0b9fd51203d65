//go:build oracles

package cgout

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOracleTotals runs programs under Cachegrind, reads its file, writes it
// again, and compares what it printed with WriteTotals. The installed version may
// be older than 3.21, which called the first lines of a block otherwise.
func TestOracleTotals(t *testing.T) {
	for _, command := range [][]string{
		{"/bin/true"}, {"/bin/ls", "-la", "/usr/lib"}, {"/bin/echo", "a", "b  c"}, {"/bin/sh", "-c", "for i in 1 2 3; do :; done"},
		{"/usr/bin/awk", "BEGIN { for (i = 0; i < 20000; i++) s += i % 7; print s }"},
	} {
		for _, caches := range []string{"yes", "no"} {
			for _, branches := range []string{"yes", "no"} {
				path := filepath.Join(t.TempDir(), "out")
				args := []string{"--tool=cachegrind", "--cachegrind-out-file=" + path,
					"--cache-sim=" + caches, "--branch-sim=" + branches, "--I1=4096,2,32", "--D1=4096,2,32", "--LL=65536,4,64"}
				cmd := exec.Command("/usr/bin/valgrind.bin", append(args, command...)...)
				var stderr bytes.Buffer
				cmd.Stderr = &stderr
				require.NoError(t, cmd.Run(), stderr.String())
				pid := fmt.Sprintf("==%d== ", cmd.Process.Pid)

				data, err := os.ReadFile(path)
				require.NoError(t, err)
				p, err := Read(path, bytes.NewReader(data))
				require.NoError(t, err)
				require.Equal(t, strings.Join(command, " "), p.Cmd)
				var again, totals bytes.Buffer
				require.NoError(t, p.Write(&again))
				require.Equal(t, dropZeroLines(string(data)), again.String())

				require.NoError(t, p.WriteTotals(&totals, pid))
				want := stderr.String()
				want = want[strings.Index(want, pid+"I "):]
				want = strings.NewReplacer("I   refs:      ", "I refs:        ", "D   refs:      ", "D refs:        ").Replace(want)
				require.Equal(t, want, totals.String(), "%q", args)
			}
		}
	}
}
