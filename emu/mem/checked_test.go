//go:build linux

package mem

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
)

// checked says that newSpace makes spaces of groups that are Checked.
var checked = !MapsFiles

// asChecked runs f with spaces whose engines look at permissions themselves.
func asChecked(f func()) {
	checked = true
	defer func() { checked = !MapsFiles }()
	f()
}

// withHostPage runs f as on a host with pages of n bytes, if this one's are not larger.
func withHostPage(n emu.Addr, f func()) {
	defer func(was emu.Addr) { HostPage = was }(HostPage)
	if HostPage = n; n >= emu.Addr(os.Getpagesize()) {
		asChecked(f)
	}
}

// alike are tests of what must be equal in all spaces.
var alike = map[string]func(*testing.T){
	"ReadAndWrite": TestReadAndWriteStopWhereMemoryDoes, "Nowhere": TestNowhere, "Strings": TestStringsAndWords,
	"FileMappings": TestFileMappings, "Protect": TestProtectSplitsAndJoins, "Move": TestMove, "Guard": TestGuard,
	"GuardBeforeMapped": TestGuardBeforeMapped, "AgainstPages": TestAgainstPages, "Mirrors": TestMirrors,
	"Fork": TestFork, "ForkFiles": TestForkFiles, "ManyFiles": TestManyFiles,
	"Grow": TestGrow, "GrowTooFar": TestGrowTooFar, "Undo": TestUndo,
}

// TestAllChecked runs the tests of what must be equal with checked spaces, and as on hosts with larger pages.
func TestAllChecked(t *testing.T) {
	pages := []emu.Addr{emu.PageSize, 16 << 10, 64 << 10}
	if testing.Short() {
		pages = pages[2:]
	}
	for _, n := range pages {
		withHostPage(n, func() {
			for name, test := range alike {
				t.Run(fmt.Sprintf("%d KiB/%s", n>>10, name), test)
			}
		})
	}
}

// TestNowhereBelowPages has pages so large that the host does not align a reservation to them: what lies between the
// guard and address 0 is guarded too.
func TestNowhereBelowPages(t *testing.T) { withHostPage(1<<30, func() { TestNowhere(t) }) }

// hostPermissions returns what /proc/self/maps says of page p of m, and of how many mappings [lo, hi) consists there.
func hostPermissions(t *testing.T, m *Space, p, hi emu.Addr) (perms string, mappings int) {
	text, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		var from, to uintptr
		var prot string
		_, err := fmt.Sscanf(line, "%x-%x %s", &from, &to, &prot)
		require.NoError(t, err)
		if from <= m.Base()+uintptr(p) && m.Base()+uintptr(p) < to {
			perms = prot
		}
		if from < m.Base()+uintptr(hi) && to > m.Base()+uintptr(p) {
			mappings++
		}
	}
	return perms, mappings
}

// needsHostMappings skips a test of what the host maps and protects where it is asked for memory only.
func needsHostMappings(t *testing.T) {
	if !MapsFiles {
		t.Skip("this build does not have the host map files or protect memory")
	}
}

// TestChecked has the host's permissions stay as they are where only the guest's change, but for what the guest may do
// nothing with, and shared files.
func TestChecked(t *testing.T) {
	needsHostMappings(t)
	asChecked(func() {
		m := newSpace(t)
		const lo, pages = 0x10000, 64
		mapAnon(t, m, lo, pages, Read|Exec)
		host := func(want string) {
			t.Helper()
			perms, mappings := hostPermissions(t, m, lo, lo+pages*page)
			require.Equal(t, want, perms)
			require.Equal(t, 1, mappings)
		}
		host("rw-p")
		require.Zero(t, m.Write(lo, []byte{1}), "the guest may not")
		require.NoError(t, m.Protect(lo, lo+pages*page, Read|Write|Exec))
		dropped := 0
		m.OnInvalidate(func(emu.Addr, emu.Addr) { dropped++ })
		perms, err := m.Perms()
		require.NoError(t, err)
		for p := emu.Addr(lo); p < lo+pages*page; p += 2 * page {
			require.NoError(t, m.Guard(p))
			require.Equal(t, uint8(Read), m.Permit(p))
		}
		host("rw-p")
		require.Zero(t, m.group.protected)
		require.Equal(t, 1, m.Write(lo, []byte{1}))
		require.Equal(t, 1, dropped)
		require.Zero(t, perms[lo/page])
		require.Equal(t, uint8(Read|Write), m.Permit(lo))
		require.NoError(t, m.Protect(lo, lo+pages*page, 0))
		host("---p")
		require.NoError(t, m.Protect(lo, lo+pages*page, Read))
		host("rw-p")

		f, err := os.Open("checked_test.go")
		require.NoError(t, err)
		defer f.Close()
		const file = 0x200000
		require.NoError(t, m.Map(VMA{Lo: file, Hi: file + page, Prot: Read, Shared: true}, f))
		shown, _ := hostPermissions(t, m, file, file+page)
		require.Equal(t, "r--s", shown)
		require.ErrorIs(t, m.Protect(file, file+page, Read|Write), ErrAccess, "it was opened for reading")
		require.NoError(t, m.Map(VMA{Lo: file, Hi: file + page, Prot: Read}, f))
		require.NoError(t, m.Protect(file, file+page, Read|Write), "a copy")
		require.Equal(t, 2, m.Write(file, []byte("//")))
	})
}
