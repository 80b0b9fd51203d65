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

// randomSource is the source of bcryptprimitives.dll, which Go's runtime has its random numbers from, and Debian 12's
// Wine does not have.
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
	command := []string{"env", "-u", "DISPLAY", "WINEPREFIX=" + prefix, "WINEDEBUG=-all", "WINEDLLOVERRIDES=mscoree,mshtml=", binary}
	// While one program waits for its input Wine's services stay: else each command starts them, and they hold its
	// output for two seconds.
	waiting := exec.Command(command[0], append(command[1:], "cmd")...)
	_, err := waiting.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, waiting.Start())
	t.Cleanup(func() {
		kill := exec.Command("/usr/lib/wine/wineserver64", "-k")
		kill.Env = append(os.Environ(), "WINEPREFIX="+prefix)
		_ = kill.Run() // it may have ended
		_ = waiting.Wait()
	})
	return command
}

// TestWine runs programs with the build for Windows, and here: what they say and what is counted are the same bytes.
func TestWine(t *testing.T) {
	t.Parallel()
	exe := filepath.Join(t.TempDir(), "cgemu.exe")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", exe, "./cmd/cgemu")
	build.Env = append(os.Environ(), "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	here, there := []string{commandFor(t, "amd64")}, append(wine(t), exe)
	image := smallImage(t)
	programs := t.TempDir()
	hostPrograms(t, programs)
	sameOnHost(t, programs, here, there, hostRows(t, programs, image))
	sameReports(t, here, there)
	t.Run("selftest", func(t *testing.T) { selftest(t, there) })
}
