// Command packaging makes what a release consists of: archives for each platform, packages for Debian and Fedora, a
// container image, a page for browsers, a list of components, a formula for Homebrew, and checksums of them all. The
// same commit gives the same bytes, wherever and whenever.
//
// It is a module of its own, so that those who use cgemu's packages do not depend on what it takes. make dist calls it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/cgemu/cgemu/internal/version"
)

func main() {
	source := flag.String("source", "..", "the repository")
	out := flag.String("out", "../dist", "the directory that is made")
	dirty := flag.Bool("dirty", false, "files may differ from the commit's")
	platforms := flag.String("platforms", "", "these only, as linux/amd64,darwin/arm64: to try, as a release has all")
	flag.Parse()
	if err := choose(*platforms); err != nil {
		fmt.Fprintln(os.Stderr, "packaging:", err)
		os.Exit(2)
	}
	if err := run(*source, *out, *dirty); err != nil {
		fmt.Fprintln(os.Stderr, "packaging:", err)
		os.Exit(1)
	}
}

// A release is what is being made.
type release struct {
	// Version has no v in front; Commit is the full name, Time when it was made: every file in archives has that time.
	Version, Commit string
	Time            time.Time
	// Source is the repository, Out where files go, Work a directory for others.
	Source, Out, Work string
	// Files is what is in every archive and package.
	Files []file
}

// A file is one for the archives.
type file struct {
	// Name is its place in an archive; Data what it holds.
	Name string
	Data []byte
	// Mode is 0644 or 0755.
	Mode int64
}

// name is that of a file of the release, as cgemu_0.1.0_linux_amd64.tar.gz.
func (r *release) name(rest string) string { return filepath.Join(r.Out, "cgemu_"+r.Version+rest) }

func run(source, out string, dirty bool) error {
	r, err := newRelease(source, out, dirty)
	if err != nil {
		return err
	}
	if r.Work, err = os.MkdirTemp("", "cgemu-packaging-"); err != nil {
		return err
	}
	defer os.RemoveAll(r.Work)
	// Whatever is left of another release would get checksums, too.
	if err := os.RemoveAll(r.Out); err != nil {
		return err
	}
	if err := os.MkdirAll(r.Out, 0o755); err != nil {
		return err
	}
	binaries, err := r.build()
	if err != nil {
		return err
	}
	if r.Files, err = r.commonFiles(binaries); err != nil {
		return err
	}
	for _, make := range []func(map[target][]byte) error{r.archives, r.web, r.packages, r.image, r.components, r.formula, r.notes, r.checksums} {
		if err := make(binaries); err != nil {
			return err
		}
	}
	return nil
}

// newRelease asks the repository for the commit.
func newRelease(source, out string, dirty bool) (*release, error) {
	r := &release{Version: version.Next, Source: source, Out: out}
	status, err := git(source, "status", "--porcelain")
	if err != nil {
		return nil, err
	}
	if status != "" && !dirty {
		return nil, fmt.Errorf("files differ from the commit's:\n%s\ncommit them (or, to try: make dist DIST=-dirty)", status)
	}
	if r.Commit, err = git(source, "rev-parse", "HEAD"); err != nil {
		return nil, err
	}
	if status != "" {
		r.Commit += "-dirty"
	}
	seconds := os.Getenv("SOURCE_DATE_EPOCH")
	if seconds == "" {
		if seconds, err = git(source, "log", "-1", "--format=%ct"); err != nil {
			return nil, err
		}
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	r.Time = time.Unix(n, 0).UTC()
	return r, nil
}

func git(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("git %s: %s", strings.Join(args, " "), strings.TrimSpace(string(exit.Stderr)))
	}
	return strings.TrimSpace(string(out)), err
}
