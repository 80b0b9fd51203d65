package annotate

import (
	"io/fs"
	"slices"
	"strings"
)

// A Finder says where sources are. The zero value looks for them under the names
// that the profiles have, relative ones from the working directory, or in Options.Files.
type Finder struct {
	// Dirs are directories with sources that are not there. In each the name is tried,
	// then the name without its first parts.
	Dirs []string
	// Images have sources under the names that the profiles have: those of the files that a profile is of, whatever the
	// host has there.
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

// A place is where a source is: a file of in, which is the image with that number from 1 on, or none.
type place struct {
	name  string
	in    fs.FS
	image int
}

// is reports whether p and q, of one finder, are the same file. Types of file systems need not be comparable.
func (p place) is(q place) bool { return p.name == q.name && p.image == q.image }

// find returns where in files, or in an image, to open the source that a profile calls name: the name
// itself, unless a map, an image or, for a file that is not there, a directory knows
// better. In a directory the name and all its tails are tried, longest first.
func (f Finder) find(files fs.FS, name string) place {
	for _, m := range f.Maps {
		if rest, ok := strings.CutPrefix(name, m.From); ok &&
			(rest == "" || rest[0] == '/' || strings.HasSuffix(m.From, "/")) {
			if m.To != "" && rest != "" {
				rest = "/" + strings.TrimLeft(rest, "/")
			}
			return place{name: strings.TrimSuffix(m.To, "/") + rest, in: files}
		}
	}
	for i, in := range f.Images {
		if name := rooted(name); isRegular(in, name) {
			return place{name, in, i + 1}
		}
	}
	if len(f.Dirs) == 0 || name == "" || isRegular(files, name) {
		return place{name: name, in: files}
	}
	for _, dir := range f.Dirs {
		for tail, more := strings.TrimLeft(name, "/"), true; more && tail != ""; _, tail, more = strings.Cut(tail, "/") {
			if p := join(files, dir, tail); isRegular(files, p) {
				return place{name: p, in: files}
			}
		}
	}
	return place{name: name, in: files}
}

// path is the place's name for people.
func (p place) path() string {
	if p.image > 0 {
		return "/" + p.name
	}
	return p.name
}

func (p place) stat() (fs.FileInfo, error) { return fs.Stat(p.in, p.name) }
