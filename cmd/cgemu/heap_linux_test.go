package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestHugeHeap has what is allocated next lie in memory for which huge pages were asked. That is done in a process of
// its own, as main does: hugeHeap waits for the end of a goroutine by their number, and those that other tests have
// left end when they like.
func TestHugeHeap(t *testing.T) {
	const alone = "CGEMU_TEST_HEAP"
	if os.Getenv(alone) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestHugeHeap$", "-test.v")
		cmd.Env = append(os.Environ(), alone+"=1")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		if bytes.Contains(out, []byte("--- SKIP")) {
			t.Skip(string(out))
		}
		require.Contains(t, string(out), "--- PASS: TestHugeHeap")
		return
	}
	err := hugeHeap()
	if errors.Is(err, unix.EINVAL) {
		t.Skip("this kernel has no huge pages")
	}
	require.NoError(t, err)
	b := make([]byte, hugeHeapSize/2)
	require.Contains(t, vmFlags(t, uint64(uintptr(unsafe.Pointer(&b[len(b)/2])))), "hg", "the heap goes on elsewhere")
}

// vmFlags returns the flags that smaps(5) has for the mapping of an address of this process.
func vmFlags(t *testing.T, a uint64) []string {
	f, err := os.Open("/proc/self/smaps")
	require.NoError(t, err)
	defer f.Close()
	in := false
	for s := bufio.NewScanner(f); s.Scan(); {
		var lo, hi uint64
		if n, _ := fmt.Sscanf(s.Text(), "%x-%x ", &lo, &hi); n == 2 {
			in = lo <= a && a < hi
		}
		if flags, ok := strings.CutPrefix(s.Text(), "VmFlags:"); ok && in {
			return strings.Fields(flags)
		}
	}
	t.Fatalf("no mapping at %#x", a)
	return nil
}
