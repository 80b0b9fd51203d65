//go:build oracles

package cachesim

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const valgrind = "/usr/bin/valgrind.bin"

// TestOracleVectors feeds the references that Valgrind's Lackey sees to a Hierarchy, and compares
// the sums with what Cachegrind counted.
func TestOracleVectors(t *testing.T) {
	const dir = "../testdata/vectors/"
	bins, err := filepath.Glob(dir + "bin/t*")
	require.NoError(t, err)
	require.Len(t, bins, 43)
	configs := map[string]Config{"big": Default, "small": geometries[0]}
	for _, bin := range bins {
		name := filepath.Base(bin)
		if name == "t35_fault" {
			continue // what the two tools forget at a fault differs
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refs := lackey(t, bin)
			for config, c := range configs {
				file, err := os.ReadFile(dir + config + "/" + name + ".out")
				require.NoError(t, err)
				_, want, found := strings.Cut(string(file), "\nsummary: ")
				require.True(t, found)
				require.Equal(t, strings.Fields(want)[:9], strings.Fields(sums(refs, c)), config)
			}
		})
	}
}

// A reference is a line of Lackey's: I, L (load), S (store) or M (modify).
type reference struct {
	kind byte
	addr uint64
	size int
}

// lackey returns the references a program makes.
func lackey(t *testing.T, bin string) (refs []reference) {
	log := filepath.Join(t.TempDir(), "log")
	abs, err := filepath.Abs(bin)
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), valgrind, "--tool=lackey", "--trace-mem=yes", "--basic-counts=no",
		"--vex-guest-chase=no", "--vex-iropt-level=0", "--log-file="+log, abs)
	cmd.Dir, cmd.Args[len(cmd.Args)-1] = filepath.Dir(abs), "./"+filepath.Base(abs) // as the vectors were recorded
	cmd.Env = []string{}
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil {
		require.True(t, errors.As(err, &exit), "%v", err)
	}
	data, err := os.ReadFile(log)
	require.NoError(t, err)
	if bytes.Contains(data, []byte("unhandled instruction bytes: 0xF 0x1 0xF9 ")) {
		cpu, err := os.ReadFile("/proc/cpuinfo")
		require.NoError(t, err)
		require.NotContains(t, string(cpu), " rdtscp ")
		t.Skip("Valgrind executes RDTSCP only where the host's CPUID has it")
	}
	line := regexp.MustCompile(`^[I ][ LSM] +[0-9a-f]+,[0-9]+$`)
	for s := bufio.NewScanner(bytes.NewReader(data)); s.Scan(); {
		if line.MatchString(s.Text()) {
			var r reference
			var kind string
			_, err := fmt.Sscanf(s.Text(), "%s %x,%d", &kind, &r.addr, &r.size)
			require.NoError(t, err, s.Text())
			r.kind = kind[0]
			refs = append(refs, r)
		}
	}
	require.NotEmpty(t, refs)
	return refs
}

// sums simulates c and returns the first nine numbers of Cachegrind's summary.
func sums(refs []reference, c Config) string {
	h := NewHierarchy(c)
	var n [9]uint64
	for _, r := range refs {
		do, first := h.Data, 3
		switch r.kind {
		case 'I':
			do, first = h.Fetch, 0
		case 'S':
			first = 6
		}
		l1, ll := do(r.addr, r.size)
		n[first]++
		if l1 {
			n[first+1]++
		}
		if ll {
			n[first+2]++
		}
	}
	return strings.Trim(fmt.Sprint(n), "[]")
}

// TestOracleOptions compares what ParseGeometry refuses, and its words, with Cachegrind.
func TestOracleOptions(t *testing.T) {
	for _, text := range []string{
		"32768,8,64", "4096,64,64", "98304,12,64", "", "32768", "32768,8", "32768,8,64,1", "32768,8,64x", "32k,8,64",
		"0,8,64", "32769,8,64", "98304,8,64", "256,8,64", "-32768,8,64", "24576,8,48", "4096,-8,-64", "4096,8,8", "64,1,64",
		"-4096,-8,64", "2147483648,8,64", "32768,4294967304,64", "32768,8,4294967296",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), valgrind, "--tool=cachegrind", "--cachegrind-out-file=/dev/null", "--I1="+text, "/bin/true")
			cmd.Env = []string{}
			out, runErr := cmd.CombinedOutput()
			_, err := ParseGeometry(text)
			if err == nil {
				require.NoError(t, runErr, "%s", out)
				return
			}
			require.Error(t, runErr, "%s", err)
			first, _, _ := strings.Cut(string(out), "\n")
			first = strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(first, "valgrind: "), "."))
			if strings.HasPrefix(first, "bad option") {
				_, second, _ := strings.Cut(string(out), "valgrind: Bad a")
				first, _, _ = strings.Cut("bad a"+second, "\n")
			}
			require.Contains(t, err.Error(), first)
		})
	}
}
