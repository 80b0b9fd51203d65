//go:build oracles

package dwarfmap

import (
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOracleLinkage compares the names of all entries of procedure linkage tables in files of the system with
// objdump's, and those of a static program with symbols.
func TestOracleLinkage(t *testing.T) {
	dir := t.TempDir()
	tool(t, dir, "sh", "-c", `echo '#include <string.h>
int main(int n, char **v) { return strlen(v[0]) + strcmp(v[0], "x") + (memchr(v[0], n, 2) != 0); }' >a.c && gcc -static -o static a.c && gcc -o dynamic a.c`)
	libc := strings.TrimSpace(output(t, "gcc", "-print-file-name=libc.so.6"))
	entry := regexp.MustCompile(`(?m)^([0-9a-f]+) <(.*)@plt>:$`)
	for _, file := range []string{dir + "/dynamic", libc, "/usr/bin/perl", "/usr/bin/objdump", "/bin/bash", "/usr/bin/apt-get", "/usr/bin/git"} {
		o := openFile(t, file)
		entries := entry.FindAllStringSubmatch(output(t, "objdump", "-d", "-j", ".plt", "-j", ".plt.got", "-j", ".plt.sec", file), -1)
		require.NotEmpty(t, entries, file)
		for _, e := range entries {
			if at := number(t, e[1]); !strings.HasPrefix(e[2], "*ABS*") {
				require.Equal(t, e[2]+"@plt", o.LinkageName(at), file)
				require.Equal(t, e[2]+"@plt", o.LinkageName(at+5), file)
			}
		}
		require.NoError(t, o.Err())
	}
	// Of static programs objdump tells which word an entry jumps through, readelf which function chooses what that is,
	// and nm what this is called.
	o := openFile(t, dir+"/static")
	chosen, symbols := map[uint64]uint64{}, map[uint64][]string{}
	for _, r := range regexp.MustCompile(`(?m)^([0-9a-f]+) .*R_X86_64_IRELATIVE? +([0-9a-f]+)`).FindAllStringSubmatch(output(t, "readelf", "-rW", o.path), -1) {
		chosen[number(t, r[1])] = number(t, r[2])
	}
	for _, s := range regexp.MustCompile(`(?m)^([0-9a-f]+) . (.*)$`).FindAllStringSubmatch(output(t, "nm", o.path), -1) {
		symbols[number(t, s[1])] = append(symbols[number(t, s[1])], s[2]+"@plt")
	}
	jumps := regexp.MustCompile(`(?m)^ +([0-9a-f]+):.*\sjmp .*# ([0-9a-f]+)`).FindAllStringSubmatch(output(t, "objdump", "-d", "-j", ".plt", o.path), -1)
	require.Greater(t, len(jumps), 10)
	for _, j := range jumps {
		require.Contains(t, symbols[chosen[number(t, j[2])]], o.LinkageName(number(t, j[1])))
	}
	require.NoError(t, o.Err())
}

func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).Output()
	require.NoError(t, err, "%s %q", name, args)
	return string(out)
}

func number(t *testing.T, hex string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(hex, 16, 64)
	require.NoError(t, err)
	return n
}

func openFile(t *testing.T, file string) *Object {
	t.Helper()
	o, err := Open(file, Options{})
	require.NoError(t, err)
	t.Cleanup(func() { o.Close() })
	return o
}
