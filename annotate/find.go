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
	// Maps say where directories are now. The first one that fits a name counts.
	Maps []SourceMap
}

// A SourceMap says that files under From, a directory or a name, are under To.
type SourceMap struct{ From, To string }

// and returns a finder that tries f and then g.
func (f Finder) and(g Finder) Finder {
	return Finder{slices.Concat(f.Dirs, g.Dirs), slices.Concat(f.Maps, g.Maps)}
}

// find returns where in files to open the source that a profile calls name: the name
// itself, unless a map or, for a file that is not there, a directory knows
// better. In a directory the name and all its tails are tried, longest first.
func (f Finder) find(files fs.FS, name string) string {
	for _, m := range f.Maps {
		if rest, ok := strings.CutPrefix(name, m.From); ok &&
			(rest == "" || rest[0] == '/' || strings.HasSuffix(m.From, "/")) {
			if m.To != "" && rest != "" {
				rest = "/" + strings.TrimLeft(rest, "/")
			}
			return strings.TrimSuffix(m.To, "/") + rest
		}
	}
	if len(f.Dirs) == 0 || name == "" || isRegular(files, name) {
		return name
	}
	for _, dir := range f.Dirs {
		for tail, more := strings.TrimLeft(name, "/"), true; more && tail != ""; _, tail, more = strings.Cut(tail, "/") {
			if path := join(files, dir, tail); isRegular(files, path) {
				return path
			}
		}
	}
	return name
}
