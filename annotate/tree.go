package annotate

import (
	"errors"
	"fmt"

	"github.com/cgemu/cgemu/cgout"
)

// A tree is the counts of profiles by file, function and line, from which
// Reports are built.
type tree struct {
	m     *model // profiles, events and totals; its tables are empty
	files map[string]*treeFile
	err   error // a line number out of range

	file *treeFile // where counts go
	fn   *treeFunc

	block counts // what is left of the last block that lines' counts were cut from
}

// newCounts returns counts of 0 for a line.
func (t *tree) newCounts(events int) counts {
	if len(t.block) < events {
		t.block = make(counts, 1024*events)
	}
	c := t.block[:events:events]
	t.block = t.block[events:]
	return c
}

type treeFile struct {
	name      string
	originals map[string]bool // its names in the profiles
	fns       map[string]*treeFunc
}

type treeFunc struct {
	name  string
	sum   counts
	lines map[int]counts
}

// loadTree reads profiles and adds them up.
func loadTree(o *Options, profiles []Input) (*tree, error) {
	t := &tree{m: &model{}, files: map[string]*treeFile{}}
	for _, in := range profiles {
		t.setFile("", "")
		t.setFunc(cgout.Unspecified) // counts before the first fl=
		r := reader{m: t.m, tree: t, o: o}
		r.left = !o.wantsFile("") || !o.wantsFunction(cgout.Unspecified)
		if err := r.read(in); err != nil {
			return nil, err
		}
		if t.err != nil {
			return nil, fmt.Errorf("%s: %w", in.name, t.err)
		}
	}
	return t, nil
}

func (t *tree) setFile(name, original string) {
	f := t.files[name]
	if f == nil {
		f = &treeFile{name, map[string]bool{}, map[string]*treeFunc{}}
		t.files[name] = f
	}
	f.originals[original] = true
	t.file = f
}

// setFunc looks the function up when it has counts.
func (t *tree) setFunc(name string) {
	t.fn = t.file.fns[name]
	if t.fn == nil {
		t.fn = &treeFunc{name: name}
	}
}

// add adds counts to the function.
func (t *tree) add(line cgout.Count, c counts) {
	n, ok := line.Int64()
	if !ok || n < 0 || int64(int(n)) != n {
		if t.err == nil {
			t.err = errors.New("line number " + line.String() + " is out of range")
		}
		return
	}
	f := t.fn
	if f.lines == nil {
		f.lines, f.sum = map[int]counts{}, make(counts, len(c))
		t.file.fns[f.name] = f
	}
	f.sum.add(c)
	sum := f.lines[int(n)]
	if sum == nil {
		sum = t.newCounts(len(c))
		f.lines[int(n)] = sum
	}
	sum.add(c)
}
