package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// A target is a platform.
type target struct{ OS, Arch string }

// targets are the platforms of a release.
var targets = []target{
	{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "arm64"}, {"darwin", "amd64"}, {"windows", "amd64"}, {"windows", "arm64"}, {"freebsd", "amd64"},
}

// choose leaves of the targets those that are named, in their order; "" stands for all.
func choose(names string) error {
	if names == "" {
		return nil
	}
	var chosen []target
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(targets, func(t target) bool { return t.String() == name })
		if i < 0 {
			return fmt.Errorf("-platforms: %q is none of %v", name, targets)
		}
		chosen = append(chosen, targets[i])
	}
	targets = slices.DeleteFunc(slices.Clone(targets), func(t target) bool { return !slices.Contains(chosen, t) })
	return nil
}

// runs says whether, and how, programs run there.
func (t target) runs() string {
	switch t {
	case target{"linux", "amd64"}:
		return "yes; with Linux before 5.9 or a CPU before x86-64-v3 by the interpreter, 8 to 18 times slower"
	case target{"linux", "arm64"}:
		return "yes, by the interpreter"
	case target{"windows", "amd64"}:
		return "yes, by the interpreter; tried under Wine only"
	}
	return "by the interpreter; nobody has tried it"
}

// program is the name of the binary.
func (t target) program() string {
	if t.OS == "windows" {
		return "cgemu.exe"
	}
	return "cgemu"
}

func (t target) String() string { return t.OS + "/" + t.Arch }

// here is the platform of this process.
var here = target{runtime.GOOS, runtime.GOARCH}

// build makes the binaries of all targets, and one for this host if that is none of them.
func (r *release) build() (map[target][]byte, error) {
	binaries := map[target][]byte{}
	for _, t := range append(targets, here) {
		if binaries[t] != nil {
			continue
		}
		data, err := r.buildOne(t)
		if err != nil {
			return nil, err
		}
		binaries[t] = data
	}
	return binaries, r.checkBinary()
}

// binary is where a target's binary is built.
func (r *release) binary(t target) string { return filepath.Join(r.Work, t.OS+"_"+t.Arch, t.program()) }

func (r *release) buildOne(t target) ([]byte, error) {
	if err := r.goBuild(t, r.binary(t), "./cmd/cgemu"); err != nil {
		return nil, err
	}
	return os.ReadFile(r.binary(t))
}

// goBuild builds a command.
func (r *release) goBuild(t target, out, command string) error {
	const pkg = "github.com/cgemu/cgemu/internal/version"
	set := func(name, value string) string { return fmt.Sprintf("-X=%s.%s=%s", pkg, name, value) }
	flags := strings.Join([]string{
		"-s", "-w", "-buildid=", set("release", r.Version), set("commit", r.Commit), set("date", r.Time.Format("2006-01-02")),
	}, " ")
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags="+flags, "-o", out, command)
	cmd.Dir, cmd.Stderr = r.Source, os.Stderr
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOOS="+t.OS, "GOARCH="+t.Arch, "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=")
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("building %s for %s: %w", command, t, err)
	}
	return nil
}

// cgemu runs this host's binary.
func (r *release) cgemu(args ...string) ([]byte, error) {
	cmd := exec.Command(r.binary(here), args...)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil, fmt.Errorf("cgemu %s: %w: %s", strings.Join(args, " "), err, exit.Stderr)
	}
	return out, err
}

// checkBinary makes sure that what was built knows what it is: a name that changed in package version would go by
// unnoticed.
func (r *release) checkBinary() error {
	got, err := r.cgemu("version")
	want := fmt.Sprintf("cgemu %s (commit %s of %s), ", r.Version, r.Commit, r.Time.Format("2006-01-02"))
	if err == nil && !strings.HasPrefix(string(got), want) {
		err = fmt.Errorf("cgemu version says %q, not %q", got, want)
	}
	return err
}
