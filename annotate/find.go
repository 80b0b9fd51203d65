package annotate

import (
	"os"
	"path/filepath"
	"strings"
)

// A finder tells where sources are.
type finder struct {
	include []string    // directories
	maps    []sourceMap // the first that fits counts
}

// A sourceMap is FROM=TO: files under FROM are under TO.
type sourceMap struct{ from, to string }

// options are --include and --source-map, for one side of a comparison or both.
func (f *finder) options(side string) []option {
	return []option{
		{names: []string{"--include" + side}, own: true, set: more(&f.include), refuse: noDirectory},
		{names: []string{"--source-map" + side}, own: true, what: "FROM=TO", set: func(s string) bool {
			from, to, ok := strings.Cut(s, "=")
			f.maps = append(f.maps, sourceMap{from, to})
			return ok && from != ""
		}},
	}
}

// noDirectory says that a name is none. To cg_annotate --include is unknown since
// 2023; what it says of one is said where --include cannot mean anything.
func noDirectory(name string) string {
	if info, err := os.Stat(name); err != nil || !info.IsDir() {
		return name + " is not a directory"
	}
	return ""
}

// and returns a finder that tries f and then g.
func (f finder) and(g finder) finder {
	return finder{append(append([]string{}, f.include...), g.include...), append(append([]sourceMap{}, f.maps...), g.maps...)}
}

// find returns where to open the source that a profile calls name: the name
// itself, unless a map or, for a file that is not there, a directory knows
// better. In a directory the name and all its tails are tried, longest first.
func (f finder) find(name string) string {
	for _, m := range f.maps {
		if rest, ok := strings.CutPrefix(name, m.from); ok &&
			(rest == "" || rest[0] == '/' || strings.HasSuffix(m.from, "/")) {
			if m.to != "" && rest != "" {
				rest = "/" + strings.TrimLeft(rest, "/")
			}
			return strings.TrimSuffix(m.to, "/") + rest
		}
	}
	if len(f.include) == 0 || name == "" || isFile(name) {
		return name
	}
	for _, dir := range f.include {
		for tail, more := strings.TrimLeft(name, "/"), true; more && tail != ""; _, tail, more = strings.Cut(tail, "/") {
			if path := filepath.Join(dir, tail); isFile(path) {
				return path
			}
		}
	}
	return name
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
