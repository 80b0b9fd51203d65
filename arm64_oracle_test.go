//go:build oracles && linux && amd64

package cgemu_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// qemuArm64 returns Debian 13's qemu-aarch64, which .ci/oracles fetches. Debian 12's looks at each page of what a
// program reserves: a process of a guest takes it seconds, and gigabytes.
func qemuArm64(t *testing.T) string {
	path, err := filepath.Abs(".ci/debian/root/usr/bin/qemu-aarch64")
	require.NoError(t, err)
	require.FileExists(t, path, ".ci/oracles .ci/debian fetches it")
	return path
}

// commandFor builds the command for linux on arch.
func commandFor(t *testing.T, arch string) string {
	bin := filepath.Join(t.TempDir(), "cgemu-"+arch)
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", bin, "./cmd/cgemu")
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+arch, "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return bin
}

// TestArm64 runs programs with the interpreter of a build for arm64, under qemu, and with the jit here: what they say
// and what is counted are the same bytes.
func TestArm64(t *testing.T) {
	t.Parallel()
	here, there := []string{commandFor(t, "amd64")}, []string{qemuArm64(t), commandFor(t, "arm64")}
	dir := t.TempDir()
	hostPrograms(t, dir)
	sameOnHost(t, dir, here, there, append(hostRows(t, dir, smallImage(t)), []hostRow{ // on files of this host
		{"processes", []string{"--trace-children=yes"}, []string{
			"/bin/bash", "-c", "for i in 1 2 3; do echo $((i * i)); done; x=$(echo a b c | tr a-z A-Z); echo $x; exit 3"}},
		{"floating point", nil, []string{"/usr/bin/gawk",
			`BEGIN { for (i = 0; i < 300; i++) s += sin(i) * exp(-i / 100) + log(i + 1) ^ 1.5; printf "%.17g\n", s }`}},
	}...))
	sameReports(t, here, there)
	t.Run("selftest", func(t *testing.T) { selftest(t, there) })
}

// filesOf runs a command with options and a program in a directory, which --isolate has, and returns the profiles that
// it writes, by name, and its "stdout", "stderr" and "status".
func filesOf(t *testing.T, in string, command, options, program []string) map[string]string {
	dir := t.TempDir()
	args := append(append(append(append([]string{}, command[1:]...), "--cachegrind-out-file="+filepath.Join(dir, "out.%p")), options...), "--")
	cmd := exec.CommandContext(t.Context(), command[0], append(args, program...)...)
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = in, &stdout, &stderr
	err := cmd.Run()
	var ended *exec.ExitError
	if err != nil {
		require.ErrorAs(t, err, &ended)
	}
	files := map[string]string{"stdout": stdout.String(), "stderr": stderr.String(), "status": cmd.ProcessState.String()}
	list, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	for _, f := range list {
		text, err := os.ReadFile(f)
		require.NoError(t, err)
		files[filepath.Base(f)] = string(text)
	}
	return files
}

// TestArm64Packages runs the tests of the packages that execute code as arm64 has them, with fewer random operands. It
// leaves out what takes long under qemu and does not depend on the host, and of mem what compares with the host's own
// mappings: qemu's madvise(2) does nothing to those of files.
func TestArm64Packages(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "go", "test", "-short", "-trimpath", "-pgo=cmd/cgemu/default.pgo", "-vet=off", "-exec", qemuArm64(t), "-skip", "^(TestLongRepeats|TestBudget|TestFilesAlike|TestComplete|TestTable|TestDecodeRandom|TestX86asm|TestAgainstTextbook)$",
		"./emu/...", "./hooks", "./cachesim", "./branchsim")
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}
