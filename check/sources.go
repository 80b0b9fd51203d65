package check

import (
	"cmp"
	"debug/buildinfo"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cgemu/cgemu/cgout"
)

// sourceNames names source files as baselines do: the same in every clone, wherever the manifest lies in it and
// wherever the program was built. Those of the project are relative to the manifest's directory, with ".." for what
// lies above it; others begin with "/" or "./".
type sourceNames struct {
	// dir is the manifest's directory, and top the directory above it, or itself, below which all is the project's.
	// Neither is behind a symbolic link; given is dir as it was named.
	dir, top, given string
	// module is the path of the Go module that the program is of, moduleDir its directory: -trimpath names files by the
	// one for the other.
	module, moduleDir string
	// builtIn is the directory that was the place of nowIn where the program was built, "" if that is not known.
	builtIn, nowIn string
	// known are the names of files that were asked for.
	known map[string]string
}

// sourceNames returns how the source files of a benchmark's programs are named, of which files are all that count.
func (m *Manifest) sourceNames(b *Benchmark, programs, files []string) *sourceNames {
	given, err := filepath.Abs(m.Dir)
	if err != nil {
		given = m.Dir
	}
	dir, err := filepath.EvalSymlinks(given)
	if err != nil {
		dir = given
	}
	s := &sourceNames{dir: dir, given: given, known: map[string]string{}, top: cmp.Or(holder(dir, ".git"), holder(dir, "go.mod"), dir)}
	if isolated := filepath.Join(dir, b.isolation()); below(s.top, isolated) {
		s.top = isolated
	}
	for _, p := range programs {
		if info, err := buildinfo.ReadFile(p); err == nil && info.Main.Path != "" {
			s.module, s.moduleDir = info.Main.Path, holder(dir, "go.mod")
			break
		}
	}
	if !slices.ContainsFunc(files, func(f string) bool { return ours(s.name(f)) }) {
		s.findBuilt(files)
		clear(s.known)
	}
	return s
}

// FromTop is a directory as seen from the top of the git repository that it is in, if it is in one.
func FromTop(dir string) (string, bool) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", false
	}
	top := holder(abs, ".git")
	if top == "" {
		return "", false
	}
	rel, err := filepath.Rel(top, abs)
	return rel, err == nil
}

// holder is the nearest directory that has an entry of that name: dir, or one above it; "" if there is none.
func holder(dir, entry string) string {
	for {
		if _, err := os.Lstat(filepath.Join(dir, entry)); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

// below reports whether a file is in a directory, or is it.
func below(file, dir string) bool {
	rest, ok := strings.CutPrefix(file, strings.TrimSuffix(dir, "/"))
	return ok && (rest == "" || rest[0] == '/')
}

// name is file as a baseline names it.
func (s *sourceNames) name(file string) string {
	name, ok := s.known[file]
	if !ok {
		name = s.look(file)
		s.known[file] = name
	}
	return name
}

// look finds the name of a file.
func (s *sourceNames) look(file string) string {
	if file == cgout.Unknown {
		return file
	}
	if !filepath.IsAbs(file) {
		if at := s.find(file); at != "" {
			return s.relative(at)
		}
		return "./" + filepath.Clean(file)
	}
	clean := filepath.Clean(file)
	if below(clean, s.given) {
		clean = s.dir + clean[len(strings.TrimSuffix(s.given, "/")):]
	}
	if below(clean, s.top) {
		return s.relative(clean)
	}
	if real, err := filepath.EvalSymlinks(clean); err == nil && real != clean && below(real, s.top) {
		return s.relative(real)
	}
	if s.builtIn != "" && below(clean, s.builtIn) {
		if at := filepath.Join(s.nowIn, clean[len(s.builtIn):]); exists(at) {
			return s.relative(at)
		}
	}
	return file
}

// find is where a file with a relative name is in the project, "" if it is not there.
func (s *sourceNames) find(file string) string {
	if rest, ok := strings.CutPrefix(file, s.module+"/"); ok && s.moduleDir != "" {
		if at := filepath.Join(s.moduleDir, rest); exists(at) {
			return at
		}
	}
	for _, dir := range []string{s.dir, s.top} {
		if at := filepath.Join(dir, file); below(at, s.top) && exists(at) {
			return at
		}
	}
	return ""
}

// relative is the name of a file of the project, from the manifest's directory on.
func (s *sourceNames) relative(file string) string {
	rel, err := filepath.Rel(s.dir, file)
	if err != nil {
		return file
	}
	return filepath.ToSlash(rel)
}

// findBuilt finds where the program was built, if not one of its files is known here: where most of their paths end as
// those of files of the project do.
func (s *sourceNames) findBuilt(files []string) {
	type place struct{ builtIn, nowIn string }
	found := map[place]int{}
	for _, f := range slices.Compact(slices.Sorted(slices.Values(files))) {
		if f = filepath.Clean(f); !filepath.IsAbs(f) || below(f, "/rustc") { // where Rust says that its library was built
			continue
		}
		if builtIn, nowIn, ok := s.sameEnd(f); ok {
			found[place{builtIn, nowIn}]++
		}
	}
	most := 0
	for _, p := range slices.SortedFunc(maps.Keys(found), func(a, b place) int {
		return cmp.Or(cmp.Compare(a.builtIn, b.builtIn), cmp.Compare(a.nowIn, b.nowIn))
	}) {
		if n := found[p]; n > most {
			s.builtIn, s.nowIn, most = p.builtIn, p.nowIn, n
		}
	}
}

// sameEnd finds a file of the project whose path ends as that of file does, as far as possible: the directories in
// which this end is.
func (s *sourceNames) sameEnd(file string) (builtIn, nowIn string, ok bool) {
	for i := range file {
		if file[i] != '/' {
			continue
		}
		for _, dir := range []string{s.dir, s.top} {
			if exists(filepath.Join(dir, file[i:])) {
				return file[:i], dir, true
			}
		}
	}
	return "", "", false
}

// exists reports whether there is a file of that name.
func exists(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular()
}
