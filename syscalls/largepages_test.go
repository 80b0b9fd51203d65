//go:build linux && amd64

package syscalls_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu"
	"github.com/cgemu/cgemu/emu/mem"
)

// differOnLargePages are the conformance programs that find something else on hosts with larger pages, and why.
var differOnLargePages = map[string]string{
	"calls":       "a memfd can be sealed against writing while it is mapped: the host does not know of the mapping",
	"codechanges": "a private mapping does not see what becomes of its file", "cutdata": "the same", "memory": "the same", "sharing": "the same",
}

// fewOnLargePages are those that a quick test runs.
var fewOnLargePages = map[string]bool{"mapping": true, "processes": true, "sysv": true, "futexes": true, "advice": true, "checking": true, "behindeof": true}

// TestLargePages runs the conformance programs as on a host with pages of 64 KiB, where files are copied and shared by way of the file itself.
func TestLargePages(t *testing.T) {
	was := mem.HostPage
	mem.HostPage = 64 << 10
	defer func() { mem.HostPage = was }()
	sources, err := filepath.Glob("testdata/guest/*.c")
	require.NoError(t, err)
	ran := 0
	for _, src := range sources {
		name := strings.TrimSuffix(filepath.Base(src), ".c")
		if differOnLargePages[name] != "" || name == "inet6" || !oracles && !fewOnLargePages[name] {
			continue
		}
		ran++
		t.Run(name, func(t *testing.T) {
			requireLinux(t, sinceLinux[name])
			prog := filepath.Join(t.TempDir(), name)
			if out, err := exec.Command("gcc", "-O1", "-w", "-pthread", "-o", prog, src).CombinedOutput(); err != nil {
				require.False(t, oracles, "%s", out)
				t.Skipf("gcc: %v: %s", err, out)
			}
			want, status := nativeRun(t, []string{prog}, nil)
			got, gotStatus := guestRun(t, []string{prog}, nil, func(c *cgemu.Config) { c.Engine = "interp" })
			require.Equal(t, want, got)
			require.Equal(t, status, gotStatus)
		})
	}
	require.GreaterOrEqual(t, ran, len(fewOnLargePages))
}
