package annotate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cgemu/cgemu/cgout"
)

// A pairing is a function of two profiles, or of one of them: the rest is nil.
type pairing struct {
	old, new         *treeFunc
	oldFile, newFile *treeFile
}

// pairs matches the functions of two trees. If exact, by the names of file and
// function alone. Otherwise:
//
//   - Files are matched by name; those left over if the last part of the name is
//     the same and they share a function.
//   - In them, functions are matched by name without hashes and suffixes of clones.
//     Where the two sides have not the same clones, these are added up.
//   - Functions left over are matched across files, if there is one on each side. Code without symbols of the programs
//     that were run counts as of one name, whatever these are called.
//
// renamed has files whose names differ: from the new name to the old.
func pairs(old, new *tree, exact bool) (list []pairing, renamed map[string]string) {
	p := pairer{exact: exact, oldProgram: old.unnamed(), newProgram: new.unnamed()}
	renamed = map[string]string{} // from new to old
	if !exact {
		renamed = renames(old, new)
	}
	taken := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(new.files)) {
		oldName, ok := renamed[name]
		if !ok {
			oldName = name
		}
		taken[oldName] = true
		p.files(old.files[oldName], new.files[name])
	}
	for _, name := range slices.Sorted(maps.Keys(old.files)) {
		if !taken[name] {
			p.files(old.files[name], nil)
		}
	}
	if !exact {
		p.moved()
	}
	return append(p.list, p.rest...), renamed
}

// unnamed is what code without symbols is called of the program that was run: `??? (prog)`. It is "" if the profile
// does not say which that is, or if there are several.
func (t *tree) unnamed() string {
	if len(t.m.profiles) != 1 {
		return ""
	}
	words := strings.Fields(t.m.profiles[0].cmd)
	if len(words) == 0 {
		return ""
	}
	return fmt.Sprintf("%s (%s)", cgout.Unknown, base(words[0]))
}

type pairer struct {
	exact bool
	// oldProgram and newProgram are the names of the programs' code without symbols.
	oldProgram, newProgram string

	list []pairing // matched
	rest []pairing // functions of one side
}

// key is the name by which functions are compared.
func (p *pairer) key(name string) string {
	if p.exact {
		return name
	}
	return StripHash(name)
}

// files matches the functions of a file; one side may be nil.
func (p *pairer) files(old, new *treeFile) {
	inOld, inNew := p.groups(old), p.groups(new)
	both := maps.Clone(inNew)
	maps.Copy(both, inOld)
	for _, key := range slices.Sorted(maps.Keys(both)) {
		a, b := inOld[key], inNew[key]
		if len(a) > 0 && len(b) > 0 && slices.EqualFunc(a, b, func(f, g *treeFunc) bool { return f.name == g.name }) {
			for i := range a {
				p.list = append(p.list, pairing{a[i], b[i], old, new})
			}
			continue
		}
		one := pairing{addUp(key, a), addUp(key, b), old, new}
		switch {
		case len(a) == 0:
			one.oldFile = nil
			p.rest = append(p.rest, one)
		case len(b) == 0:
			one.newFile = nil
			p.rest = append(p.rest, one)
		default:
			p.list = append(p.list, one)
		}
	}
}

// groups returns the functions of a file by key, each list sorted by name.
func (p *pairer) groups(f *treeFile) map[string][]*treeFunc {
	groups := map[string][]*treeFunc{}
	if f == nil {
		return groups
	}
	for _, name := range slices.Sorted(maps.Keys(f.fns)) {
		groups[p.key(name)] = append(groups[p.key(name)], f.fns[name])
	}
	return groups
}

// addUp makes one function of several clones, nil of none.
func addUp(name string, fns []*treeFunc) *treeFunc {
	switch len(fns) {
	case 0:
		return nil
	case 1:
		return fns[0]
	}
	sum := &treeFunc{name: name, sum: make(counts, len(fns[0].sum)), lines: map[int]counts{}}
	for _, f := range fns {
		sum.sum.add(f.sum)
		for line, c := range f.lines {
			if sum.lines[line] == nil {
				sum.lines[line] = make(counts, len(c))
			}
			sum.lines[line].add(c)
		}
	}
	return sum
}

// moved matches functions that went from one file to another.
func (p *pairer) moved() {
	type sides struct{ old, new []int }
	byKey := map[string]*sides{}
	for i, one := range p.rest {
		f, unnamed := one.new, p.newProgram
		if f == nil {
			f, unnamed = one.old, p.oldProgram
		}
		key := p.key(f.name)
		if f.name == unnamed {
			key = cgout.Unknown + " of the program"
		}
		s := byKey[key]
		if s == nil {
			s = &sides{}
			byKey[key] = s
		}
		if one.new != nil {
			s.new = append(s.new, i)
		} else {
			s.old = append(s.old, i)
		}
	}
	gone := map[int]bool{}
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		s := byKey[key]
		if key == cgout.Unspecified || key == cgout.Unknown || len(s.old) != 1 || len(s.new) != 1 {
			continue
		}
		a, b := p.rest[s.old[0]], p.rest[s.new[0]]
		p.list = append(p.list, pairing{a.old, b.new, a.oldFile, b.newFile})
		gone[s.old[0]], gone[s.new[0]] = true, true
	}
	var rest []pairing
	for i, one := range p.rest {
		if !gone[i] {
			rest = append(rest, one)
		}
	}
	p.rest = rest
}

// maxComparisons is how many functions may be compared to find files of one base name that were renamed. Files of
// programs need thousands; where thousands of files share a name and none of them is in both trees, they are not
// matched.
const maxComparisons = 1 << 22

// renames returns the files that have another name in the old tree: from the new
// name to the old.
func renames(old, new *tree) map[string]string {
	type candidate struct {
		old, new     string
		tail, shared int // parts of the path, and functions, that are the same
	}
	type group struct{ old, new []string }
	byBase := map[string]*group{}
	at := func(name string) *group {
		g := byBase[base(name)]
		if g == nil {
			g = &group{}
			byBase[base(name)] = g
		}
		return g
	}
	for _, name := range slices.Sorted(maps.Keys(old.files)) {
		if new.files[name] == nil {
			g := at(name)
			g.old = append(g.old, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(new.files)) {
		if old.files[name] == nil {
			g := at(name)
			g.new = append(g.new, name)
		}
	}
	keys := functionKeys{}
	var list []candidate
	for _, b := range slices.Sorted(maps.Keys(byBase)) {
		g := byBase[b]
		before, left := len(list), maxComparisons
		for _, name := range g.new {
			for _, other := range g.old {
				if left < 0 {
					break
				}
				shared := keys.shared(old.files[other], new.files[name], &left)
				if shared > 0 {
					list = append(list, candidate{other, name, commonTail(other, name), shared})
				}
			}
		}
		if left < 0 {
			list = list[:before]
		}
	}
	slices.SortFunc(list, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.tail, a.tail), cmp.Compare(b.shared, a.shared), cmp.Compare(a.new, b.new), cmp.Compare(a.old, b.old))
	})
	renamed, taken := map[string]string{}, map[string]bool{}
	for _, c := range list {
		if _, ok := renamed[c.new]; !ok && !taken[c.old] {
			renamed[c.new], taken[c.old] = c.old, true
		}
	}
	return renamed
}

func base(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// commonTail returns the number of last parts of paths that are the same.
func commonTail(a, b string) int {
	x, y := strings.Split(a, "/"), strings.Split(b, "/")
	n := 0
	for n < len(x) && n < len(y) && x[len(x)-1-n] == y[len(y)-1-n] {
		n++
	}
	return n
}

// functionKeys has for files how many of their functions have a name, without hashes.
type functionKeys map[*treeFile]map[string]int

func (k functionKeys) of(f *treeFile) map[string]int {
	keys := k[f]
	if keys == nil {
		keys = make(map[string]int, len(f.fns))
		for name := range f.fns {
			keys[StripHash(name)]++
		}
		k[f] = keys
	}
	return keys
}

// shared returns how many functions of b have the name of one of a. It takes what that costs from left.
func (k functionKeys) shared(a, b *treeFile, left *int) (n int) {
	inA, inB := k.of(a), k.of(b)
	*left -= 1 + min(len(inA), len(inB))
	if len(inA) < len(inB) {
		for key := range inA {
			n += inB[key]
		}
		return n
	}
	for key, count := range inB {
		if inA[key] > 0 {
			n += count
		}
	}
	return n
}
