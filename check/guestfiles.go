package check

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"github.com/cgemu/cgemu"
)

// guestFiles are the files of a run by the names that its results have: those of the host or, with an image, those that
// the guest sees.
type guestFiles struct {
	image *cgemu.Image // nil without one
	// binds are the directories of the host that the guest sees in the image, with absolute paths: first that of
	// Config.Isolate, if there is one.
	binds []cgemu.Bind
}

// filesOfRun returns the files of a run.
func filesOfRun(cfg *cgemu.Config) (*guestFiles, error) {
	g := &guestFiles{image: cfg.Image}
	if g.image == nil {
		return g, nil
	}
	if cfg.Isolate != "" {
		g.binds = append(g.binds, cgemu.Bind{Host: cfg.Isolate, Guest: "/work"})
	}
	g.binds = append(g.binds, cfg.Binds...)
	for i := range g.binds {
		var err error
		if g.binds[i].Host, err = filepath.Abs(g.binds[i].Host); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// host returns the host's path of a file, false if it is the image's.
func (g *guestFiles) host(name string) (string, bool) {
	if g.image == nil {
		return name, true
	}
	longest := -1
	for i, b := range g.binds {
		if below(name, path.Clean(b.Guest)) && (longest < 0 || len(b.Guest) > len(g.binds[longest].Guest)) {
			longest = i
		}
	}
	if longest < 0 {
		return "", false
	}
	b := g.binds[longest]
	return filepath.Join(b.Host, strings.TrimPrefix(name, path.Clean(b.Guest))), true
}

// onHost returns the host's paths of those files that are the host's.
func (g *guestFiles) onHost(names []string) (list []string) {
	for _, name := range names {
		if at, ok := g.host(name); ok {
			list = append(list, at)
		}
	}
	return list
}

// program returns the program's name, which has to be one of the guest's with an image.
func (g *guestFiles) program(cfg *cgemu.Config) (string, error) {
	name := cfg.Path
	if g.image == nil || filepath.IsAbs(name) && (cfg.Isolate == "" || !below(name, g.binds[0].Host)) {
		return name, nil
	}
	if !filepath.IsAbs(name) {
		var err error
		if name, err = filepath.Abs(filepath.Join(cfg.Dir, name)); err != nil {
			return "", err
		}
	}
	for _, b := range g.binds {
		if below(name, b.Host) {
			return path.Join(b.Guest, filepath.ToSlash(strings.TrimPrefix(name, b.Host))), nil
		}
	}
	return path.Join("/", g.image.Config().WorkingDir, filepath.ToSlash(cfg.Path)), nil
}

// find returns where a bare name is in the PATH of an environment.
func (g *guestFiles) find(name string, env []string) (string, error) {
	dirs := "/bin:/usr/bin"
	for _, e := range env {
		if value, ok := strings.CutPrefix(e, "PATH="); ok {
			dirs = value
		}
	}
	for dir := range strings.SplitSeq(dirs, ":") {
		at := path.Join("/", dir, name)
		if info, err := g.stat(at); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return at, nil
		}
	}
	return "", fmt.Errorf("%s: %w, which is %s in the image", name, exec.ErrNotFound, dirs)
}

func (g *guestFiles) stat(name string) (fs.FileInfo, error) {
	if at, ok := g.host(name); ok {
		return os.Stat(at)
	}
	return fs.Stat(g.image.FS(), strings.TrimPrefix(path.Clean(name), "/"))
}

func (g *guestFiles) open(name string) (io.ReadCloser, error) {
	if at, ok := g.host(name); ok {
		return os.Open(at)
	}
	return g.image.FS().Open(strings.TrimPrefix(path.Clean(name), "/"))
}

// parseVolume reads a value of volumes, DIR:PATH or DIR:PATH:ro.
func parseVolume(text string) (b cgemu.Bind, err error) {
	rest, readOnly := strings.CutSuffix(text, ":ro")
	i := strings.LastIndex(rest, ":/")
	if i <= 0 {
		return b, fmt.Errorf("volumes: %q is not DIR:PATH or DIR:PATH:ro, with a PATH that begins with a slash", text)
	}
	return cgemu.Bind{Host: rest[:i], Guest: rest[i+1:], ReadOnly: readOnly}, nil
}
