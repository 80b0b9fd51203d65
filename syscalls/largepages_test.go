//go:build linux && amd64

package syscalls_test

import (
	"fmt"
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

// TestLargePages runs conformance programs as on hosts with larger pages, where files are not mapped but copied, page
// by page.
func TestLargePages(t *testing.T) {
	defer func(was emu.Addr) { mem.HostPage = was }(mem.HostPage)
	sources, err := filepath.Glob("testdata/guest/*.c")
	require.NoError(t, err)
	var names []string
	for _, src := range sources {
		name := strings.TrimSuffix(filepath.Base(src), ".c")
		if onLargePages[name] != oracles && name != "inet6" {
			names = append(names, name)
		}
	}
	require.GreaterOrEqual(t, len(names), len(onLargePages))
	sizes := []emu.Addr{16 << 10, 64 << 10}
	if oracles {
		sizes = sizes[1:]
	}
	for _, size := range sizes {
		mem.HostPage = size
		t.Run(fmt.Sprintf("%d KiB", size>>10), func(t *testing.T) {
			natives := newNatives()
			for _, name := range names {
				t.Run(name, func(t *testing.T) {
					p := natives.start(t, name, []string{"gcc"})
					t.Parallel() // half of the time they wait
					natives.Wait()
					p.requireRun(t)
					got, status := guestRun(t, []string{p.prog}, nil, func(c *cgemu.Config) { c.Engine = "interp" })
					if p.expected() != got { // a busy host may be late
						p.want, p.status = nativeRun(t, []string{p.prog}, nil)
					}
					require.Equal(t, p.expected(), got)
					require.Equal(t, p.status, status)
				})
			}
		})
	}
}
