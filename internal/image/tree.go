package image

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
)

// A File is a file of an image, whatever names it has.
type File struct {
	Attributes
	// Nlink is how many names it has, for a directory as Linux counts them. Number is another one for each file.
	Nlink, Number uint64
	// Parent and Name are those of its name that came first. The root is its own parent.
	Parent *File
	Name   string
	names  map[string]*File // of a directory
	from   *layer
	at     *entry
}

// Lookup returns what a directory has by a name, or nil.
func (f *File) Lookup(name string) *File { return f.names[name] }

// List returns the names in a directory, sorted.
func (f *File) List() []string { return slices.Sorted(maps.Keys(f.names)) }

// Open returns what a regular file contains.
func (f *File) Open() (io.Reader, error) {
	if f.at == nil || f.Kind != Regular {
		return nil, errors.New("it is no regular file")
	}
	if !f.at.sparse {
		return io.NewSectionReader(f.from.data, f.at.off, f.Size), nil
	}
	if f.Size > maxSparse {
		return nil, &LimitError{"bytes in a file with holes", maxSparse}
	}
	t := tar.NewReader(io.NewSectionReader(f.from.data, f.at.off, f.from.data.Size()-f.at.off))
	for range f.at.skip + 1 {
		if _, err := t.Next(); err != nil {
			return nil, notWhole(err, 1)
		}
	}
	return t, nil
}

// A joiner makes a tree of layers.
type joiner struct {
	root *File
	// files and steps are how many files were made, and names looked up.
	files, steps int
	// renamed says that a file may have lost its first name and kept another one.
	renamed bool
}

// join makes the tree of layers, the lowest first; marked says that they may take something away of those below.
func join(layers []*layer, marked bool) (*File, error) {
	j := &joiner{}
	j.root, _ = j.make(nil, "")
	j.root.Parent = j.root
	for i, l := range layers {
		err := j.add(l, marked)
		if err != nil && marked {
			err = &LayerError{i + 1, len(layers), err}
		}
		if err != nil {
			return nil, err
		}
	}
	if j.renamed {
		rename(j.root)
	}
	return j.root, nil
}

// rename gives the files in d whose first name is gone the first one that is left.
func rename(d *File) {
	for _, name := range d.List() {
		f := d.names[name]
		if f.Kind == Directory {
			rename(f)
		} else if f.Parent.names[f.Name] != f {
			f.Parent, f.Name = d, name
		}
	}
}

// make makes a directory, as it is if no archive says what it is like.
func (j *joiner) make(parent *File, name string) (*File, error) {
	if j.files++; int64(j.files) > 2*limits.entries {
		return nil, &LimitError{"files and directories", 2 * limits.entries}
	}
	f := &File{Attributes: Attributes{Kind: Directory, Mode: 0o755}, Nlink: 2, Number: uint64(j.files), Parent: parent, Name: name}
	if parent != nil {
		parent.put(name, f)
	}
	return f, nil
}

// put gives f a name in the directory d.
func (d *File) put(name string, f *File) {
	if d.names == nil {
		d.names = map[string]*File{}
	}
	d.names[name] = f
	if f.Kind == Directory {
		d.Nlink++
	}
}

// remove takes a name in d away, and all that is below it.
func (j *joiner) remove(d *File, name string) {
	f := d.names[name]
	if f == nil {
		return
	}
	delete(d.names, name)
	if f.Kind != Directory {
		f.Nlink--
		j.renamed = j.renamed || f.Nlink > 0
		return
	}
	d.Nlink--
	for n := range f.names {
		j.remove(f, n)
	}
}

// Marks of what a layer takes away of those below: a name, or all that is in the directory.
const (
	whiteout = ".wh."
	opaque   = ".wh..wh..opq"
)

// add puts a layer over what there is. Its marks are about what was there before, wherever in the archive they stand.
func (j *joiner) add(l *layer, marked bool) error {
	if marked {
		for _, do := range []func(*entry) error{j.replace, j.takeAway} {
			for i := range l.list {
				if err := do(&l.list[i]); err != nil {
					return fmt.Errorf("%q: %w", l.list[i].name, err)
				}
			}
		}
	}
	for i := range l.list {
		e := &l.list[i]
		if marked && strings.HasPrefix(path.Base(e.name), whiteout) {
			continue
		}
		if err := j.addFile(l, e); err != nil {
			return fmt.Errorf("%q: %w", e.name, err)
		}
	}
	return nil
}

// replace puts a directory of a layer where there was something else. Marks in it would be followed to where that
// leads, if it is a link.
func (j *joiner) replace(e *entry) error {
	if e.Kind != Directory {
		return nil
	}
	dir, name := path.Split(e.name)
	d, err := j.directory(dir, false)
	if err != nil || d == nil {
		return err
	}
	if old := d.names[name]; old != nil && old.Kind != Directory {
		j.remove(d, name)
		_, err = j.make(d, name)
	}
	return err
}

// takeAway does what a mark says, if e is one.
func (j *joiner) takeAway(e *entry) error {
	dir, base := path.Split(e.name)
	gone, ok := strings.CutPrefix(base, whiteout)
	if !ok {
		return nil
	}
	d, err := j.directory(dir, false)
	switch {
	case err != nil || d == nil:
		return err
	case base == opaque:
		for n := range d.names {
			j.remove(d, n)
		}
	case !strings.HasPrefix(gone, whiteout): // which are marks of a file system's own
		j.remove(d, gone)
	}
	return nil
}

// addFile adds a file.
func (j *joiner) addFile(l *layer, e *entry) error {
	if e.Kind == Regular && !e.sparse && (e.off < 0 || e.Size < 0 || e.off+e.Size > l.data.Size()) {
		return errCut
	}
	if e.name == "" {
		if e.Kind != Directory {
			return errors.New("the root is a directory")
		}
		j.root.Attributes = e.Attributes
		return nil
	}
	dir, name := path.Split(e.name)
	d, err := j.directory(dir, true)
	if err != nil {
		return err
	}
	old := d.names[name]
	switch {
	case e.Kind == hardLink:
		return j.link(d, name, e.Target)
	case e.Kind == Directory && old != nil && old.Kind == Directory:
		old.Attributes = e.Attributes
		return nil
	}
	j.remove(d, name)
	f, err := j.make(nil, name)
	if err != nil {
		return err
	}
	f.Attributes, f.Parent, f.from, f.at = e.Attributes, d, l, e
	if f.Kind != Directory {
		f.Nlink = 1
	}
	if f.Kind == Symlink {
		f.Size = int64(len(f.Target))
	}
	d.put(name, f)
	return nil
}

// link gives the file at a path one more name.
func (j *joiner) link(d *File, name, target string) error {
	dir, base := path.Split(target)
	at, err := j.directory(dir, false)
	if err != nil {
		return err
	}
	var f *File
	if at != nil {
		f = at.names[base]
	}
	switch {
	case f == nil:
		return fmt.Errorf("it is another name of %q, which is not there", target)
	case f.Kind == Directory:
		return fmt.Errorf("it is another name of %q, which is a directory", target)
	case d.names[name] == f:
		return nil
	}
	j.remove(d, name)
	if f.Nlink++; f.Nlink == 1 { // it was below what is gone now
		f.Parent, f.Name = d, name
	}
	d.put(name, f)
	return nil
}

// directory returns the directory at a path. What is missing on the way is made if make is set; otherwise nil is
// returned.
func (j *joiner) directory(name string, make bool) (*File, error) {
	w := walk{j: j, at: j.root, make: make}
	if err := w.follow(name); err != nil {
		return nil, err
	}
	return w.at, nil
}

// A walk goes from directory to directory, and never out of the root: links are followed as if that were "/", as they
// will be when the image is run.
type walk struct {
	j     *joiner
	at    *File // nil for what is not there
	make  bool
	links int
}

func (w *walk) follow(name string) error {
	for part := range strings.SplitSeq(name, "/") {
		if w.j.steps++; w.j.steps > maxSteps {
			return &LimitError{"steps in the paths of files", maxSteps}
		}
		if w.at == nil {
			return nil
		}
		switch part {
		case "", ".":
			continue
		case "..":
			w.at = w.at.Parent
			continue
		}
		if len(part) > nameMax {
			return fmt.Errorf("a name has %d bytes, and Linux's have %d at most", len(part), nameMax)
		}
		if err := w.step(part); err != nil {
			return err
		}
	}
	return nil
}

// step goes to what is called name in the directory where the walk is.
func (w *walk) step(name string) error {
	next := w.at.names[name]
	switch {
	case !w.make && (next == nil || next.Kind != Directory && next.Kind != Symlink):
		w.at = nil
		return nil
	case next == nil:
		var err error
		w.at, err = w.j.make(w.at, name)
		return err
	case next.Kind == Directory:
		w.at = next
		return nil
	case next.Kind != Symlink:
		return fmt.Errorf("%q on the way there is no directory", name)
	}
	if w.links++; w.links > maxLinks {
		return fmt.Errorf("more than %d symbolic links are on the way there", maxLinks)
	}
	if path.IsAbs(next.Target) {
		w.at = w.j.root
	}
	return w.follow(next.Target)
}

// Find returns the file at a path, over links, or nil. Paths begin at the root.
func (m *Image) Find(name string) *File {
	w := walk{j: &joiner{root: m.Root}, at: m.Root}
	for {
		dir, base := path.Split(name)
		if base == "." || base == ".." {
			dir, base = name, ""
		}
		if err := w.follow(dir); err != nil || w.at == nil {
			return nil
		}
		if base == "" {
			return w.at
		}
		f := w.at.names[base]
		if f == nil || f.Kind != Symlink {
			return f
		}
		if w.links++; w.links > maxLinks {
			return nil
		}
		if name = f.Target; path.IsAbs(name) {
			w.at = m.Root
		}
	}
}
