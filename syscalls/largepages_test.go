//go:build linux && amd64

package syscalls_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu"
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
)

// onLargePages are the conformance programs that TestLargePages runs; with the tag oracles it runs the others.
var onLargePages = map[string]bool{"filemaps": true, "cutdata": true, "codechanges": true, "calls": true, "sharing": true, "behindeof": true}

// TestLargePages runs conformance programs as on hosts with larger pages, where files are not mapped but copied, page by page.
func TestLargePages(t *testing.T) {
	defer func(was emu.Addr) { mem.HostPage = was }(mem.HostPage)
	sources, err := filepath.Glob("testdata/guest/*.c")
	require.NoError(t, err)
	programs := map[string]string{}
	for _, src := range sources {
		name := strings.TrimSuffix(filepath.Base(src), ".c")
		if onLargePages[name] == oracles || name == "inet6" {
			continue
		}
		prog := filepath.Join(t.TempDir(), name)
		if out, err := exec.Command("gcc", "-O1", "-w", "-pthread", "-o", prog, src).CombinedOutput(); err != nil {
			require.False(t, oracles, "%s", out)
			t.Skipf("gcc: %v: %s", err, out)
		}
		programs[name] = prog
	}
	require.GreaterOrEqual(t, len(programs), len(onLargePages))
	sizes := []emu.Addr{16 << 10, 64 << 10}
	if oracles {
		sizes = sizes[1:]
	}
	for _, size := range sizes {
		mem.HostPage = size
		t.Run(fmt.Sprintf("%d KiB", size>>10), func(t *testing.T) {
			for name, prog := range programs {
				t.Run(name, func(t *testing.T) {
					t.Parallel() // half of the time they wait
					requireLinux(t, sinceLinux[name])
					want, status := nativeRun(t, []string{prog}, nil)
					got, gotStatus := guestRun(t, []string{prog}, nil, func(c *cgemu.Config) { c.Engine = "interp" })
					require.Equal(t, want, got)
					require.Equal(t, status, gotStatus)
				})
			}
		})
	}
}
