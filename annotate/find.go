package annotate

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// A Finder says where sources are. The zero value looks for them under the names
// that the profiles have, relative ones from the working directory.
type Finder struct {
	// Dirs are directories with sources that are not there. In each the name is tried,
	// then the name without its first parts.
	Dirs []string
	// Images have sources under the names that the profiles have: those of the files that a profile is of, whatever the host has there.
	Images []fs.FS
	// Maps say where directories are now. The first one that fits a name counts.
	Maps []SourceMap
}

// A SourceMap says that files under From, a directory or a name, are under To.
type SourceMap struct{ From, To string }

// and returns a finder that tries f and then g.
func (f Finder) and(g Finder) Finder {
	return Finder{slices.Concat(f.Dirs, g.Dirs), slices.Concat(f.Images, g.Images), slices.Concat(f.Maps, g.Maps)}
}

// A place is where a source is: a name of the host's, or of a file in an image.
type place struct {
	name string
	in   fs.FS
}

// find returns where to open the source that a profile calls name: the name
// itself, unless a map, an image or, for a file that is not there, a directory knows
// better. In a directory the name and all its tails are tried, longest first.
func (f Finder) find(name string) place {
	for _, m := range f.Maps {
		if rest, ok := strings.CutPrefix(name, m.From); ok &&
			(rest == "" || rest[0] == '/' || strings.HasSuffix(m.From, "/")) {
			if m.To != "" && rest != "" {
				rest = "/" + strings.TrimLeft(rest, "/")
			}
			return place{name: strings.TrimSuffix(m.To, "/") + rest}
		}
	}
	for _, in := range f.Images {
		p := place{strings.TrimPrefix(path.Clean("/"+name), "/"), in}
		if info, err := p.stat(); err == nil && info.Mode().IsRegular() {
			return p
		}
	}
	if len(f.Dirs) == 0 || name == "" || isFile(name) {
		return place{name: name}
	}
	for _, dir := range f.Dirs {
		for tail, more := strings.TrimLeft(name, "/"), true; more && tail != ""; _, tail, more = strings.Cut(tail, "/") {
			if p := filepath.Join(dir, tail); isFile(p) {
				return place{name: p}
			}
		}
	}
	return place{name: name}
}

// path is the place's name for people.
func (p place) path() string {
	if p.in != nil {
		return "/" + p.name
	}
	return p.name
}

func (p place) stat() (fs.FileInfo, error) {
	if p.in != nil {
		return fs.Stat(p.in, p.name)
	}
	return os.Stat(p.name)
}

// open opens the source. One that has no end does not wait for a beginning.
func (p place) open() (fs.File, error) {
	if p.in != nil {
		return p.in.Open(p.name)
	}
	return os.OpenFile(p.name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
