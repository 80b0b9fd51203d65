//go:build oracles && linux && amd64

package cgemu_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// randomSource is the source of bcryptprimitives.dll, which Go's runtime has its random numbers from, and Debian 12's Wine does not have.
const randomSource = `#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE p, SIZE_T n) { return SystemFunction036(p, n); }
`

// wine returns a command that runs programs of Windows in a prefix of its own.
func wine(t *testing.T) []string {
	const binary = "/usr/lib/wine/wine64"
	require.FileExists(t, binary, "apt-get install wine64")
	dir := t.TempDir()
	prefix := dir + "/prefix"
	require.NoError(t, os.WriteFile(dir+"/random.c", []byte(randomSource), 0o644))
	for _, args := range [][]string{
		{"x86_64-w64-mingw32-gcc", "-shared", "-o", dir + "/bcryptprimitives.dll", dir + "/random.c", "-ladvapi32"},
		{"env", "-u", "DISPLAY", "WINEPREFIX=" + prefix, "WINEDEBUG=-all", "WINEDLLOVERRIDES=mscoree,mshtml=", binary, "wineboot", "-i"},
		{"cp", dir + "/bcryptprimitives.dll", prefix + "/drive_c/windows/system32/"},
	} {
		out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput()
		require.NoError(t, err, "%s: %s", strings.Join(args, " "), out)
	}
	t.Cleanup(func() {
		kill := exec.Command("/usr/lib/wine/wineserver64", "-k")
		kill.Env = append(os.Environ(), "WINEPREFIX="+prefix)
		_ = kill.Run() // it may have ended
	})
	return []string{"env", "-u", "DISPLAY", "WINEPREFIX=" + prefix, "WINEDEBUG=-all", "WINEDLLOVERRIDES=mscoree,mshtml=", binary}
}

// smallImage makes a tar of a root with bash, perl and python3 of this machine.
func smallImage(t *testing.T) string {
	name := filepath.Join(t.TempDir(), "root.tar")
	script := `set -e
programs="/usr/bin/bash /usr/bin/perl /usr/bin/python3.11 /usr/bin/sort /usr/bin/tr /usr/bin/cat /usr/bin/ls /usr/bin/rm"
libs=$(for p in $programs; do ldd $p; done | grep -o '/[^ ]*' | sort -u)
tar -C / --dereference --hard-dereference --transform 's,^usr/bin/python3.11,usr/bin/python3,' -cf "$1" --exclude='*/__pycache__' --exclude='*/test' \
	$(for f in $programs $libs /usr/lib/x86_64-linux-gnu/perl-base /usr/lib/python3.11; do echo ${f#/}; done) 2>&1`
	out, err := exec.CommandContext(t.Context(), "bash", "-c", script, "bash", name).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return name
}

// TestWine runs programs with the build for Windows, and here: what they say and what is counted are the same bytes.
func TestWine(t *testing.T) {
	exe := filepath.Join(t.TempDir(), "cgemu.exe")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", exe, "./cmd/cgemu")
	build.Env = append(os.Environ(), "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	here, there := []string{commandFor(t, "amd64")}, append(wine(t), exe)
	image := smallImage(t)
	programs := t.TempDir()
	for _, p := range []string{demo, guest, avx512, "testdata/approx", "testdata/vectors/bin/t34_jit", "testdata/vectors/bin/t39_mix"} {
		b, err := os.ReadFile(p)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(programs, filepath.Base(p)), b, 0o755))
	}
	t.Chdir(programs)
	isolated := "--isolate"
	for _, p := range []struct {
		name    string
		options []string
		args    []string
	}{
		{"demo", []string{isolated}, []string{programs + "/demo"}},
		{"demo simulated", []string{isolated, "--cache-sim=yes", "--branch-sim=yes"}, []string{programs + "/demo"}},
		{"threads", []string{isolated}, []string{programs + "/guest", "threads"}},
		{"signals", []string{isolated}, []string{programs + "/guest", "signals"}},
		{"faults", []string{isolated}, []string{programs + "/guest", "faults", "100"}},
		{"approximations", []string{isolated}, []string{programs + "/approx"}},
		{"AVX-512", []string{isolated, "--cpu=v4"}, []string{programs + "/" + filepath.Base(avx512)}},
		{"code that changes", []string{isolated, "--cache-sim=yes"}, []string{programs + "/t34_jit"}},
		{"a mix", []string{isolated, "--cache-sim=yes", "--branch-sim=yes"}, []string{programs + "/t39_mix"}},
		{"bash", []string{"--image=" + image}, []string{
			"bash", "-c", "ls /usr; for i in 1 2 3; do echo $((i * i)); done | sort -r; x=$(echo a b c | tr a-z A-Z); echo $x >/tmp/f; cat /tmp/f; exit 3"}},
		{"names", []string{"--image=" + image, "--bind=" + t.TempDir() + ":/work"}, []string{
			"bash", "-c", "cd /work; for n in Makefile makefile MAKEFILE aux x:y end. '<a|b>'; do echo $n >$n; done; cat *; ls; printf '%s\n' [a-m]*; >n; ls -a; rm -- *; ls -a"}},
		{"perl", []string{"--image=" + image}, []string{"perl", "-e",
			`my %h; $h{$_ % 17} += sqrt($_) for 1..300; printf "%s %.15g\n", $_, $h{$_} for sort keys %h; fork or exit 2; wait; print $? >> 8, "\n"`}},
		{"python", []string{"--image=" + image}, []string{"python3", "-S", "-c",
			"import os, json; print(json.dumps({'a': [1.5, None]}), sorted(os.listdir('/'))); print(sum(0.1 * i for i in range(1000)))"}},
	} {
		t.Run(p.name, func(t *testing.T) {
			want := filesOf(t, append(here, "--engine=jit"), p.options, p.args)
			got := filesOf(t, there, p.options, p.args)
			require.Greater(t, len(want), 3, "a profile")
			for name, text := range want {
				sameProfile(t, text, got[name])
			}
			require.Len(t, got, len(want))
		})
	}
}
