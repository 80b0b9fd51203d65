package image

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/cgemu/cgemu/internal/nonblock"
)

// An archive has the parts of an image by name: it is a directory or a tar file.
type archive interface {
	// open opens a part. Names come from the archive itself.
	open(name string) (part, error)
	has(name string) bool
}

// A directory is an archive that is a directory of the host's. No name or link leads out of it.
type directory struct {
	name string
	o    *opener
}

func (d directory) has(name string) bool {
	_, err := os.Stat(filepath.Join(d.name, filepath.FromSlash(name)))
	return err == nil
}

func (d directory) open(name string) (part, error) {
	root, err := os.OpenRoot(d.name)
	if err != nil {
		return part{}, withoutPath(err)
	}
	defer root.Close()
	f, err := root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|nonblock.Flag, 0)
	if err != nil {
		return part{}, fmt.Errorf("%s: %w", name, withoutPath(err))
	}
	d.o.closes = append(d.o.closes, f)
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return part{}, fmt.Errorf("%s: a regular file is expected", name)
	}
	id, size, err := identity(f)
	if err != nil {
		return part{}, err
	}
	abs, err := filepath.Abs(d.name)
	return part{io.NewSectionReader(f, 0, size), abs, id}, err
}

// A tarArchive is an archive that is a tar file.
type tarArchive struct {
	data    *io.SectionReader
	files   map[string]*entry
	key, id string
}

// Files that say that an archive has images. In one that has both, as newer versions of docker save write them, the
// first is better: it knows tags.
const (
	dockerManifest = "manifest.json"
	ociIndex       = "index.json"
	ociLayout      = "oci-layout"
)

// newTarArchive returns the archive that a layer is if it has images, or nil.
func newTarArchive(l *layer, key, id string) archive {
	if !slices.ContainsFunc(l.list, func(e entry) bool { return e.name == dockerManifest || e.name == ociIndex }) {
		return nil
	}
	a := &tarArchive{l.data, map[string]*entry{}, key, id}
	for i := range l.list {
		a.files[l.list[i].name] = &l.list[i]
	}
	// A root directory may have a manifest.json, too, of a web application: that is no list.
	if b, err := text(a, dockerManifest); err == nil && bytes.HasPrefix(bytes.TrimSpace(b), []byte("[")) {
		return a
	}
	if _, err := a.find(ociIndex); err == nil && a.has(ociLayout) {
		return a
	}
	return nil
}

func (a *tarArchive) has(name string) bool { return a.files[name] != nil }

// find returns the regular file of a name, over links if there are any.
func (a *tarArchive) find(name string) (*entry, error) {
	at, err := clean(name)
	for range maxLinks {
		e := a.files[at]
		switch {
		case err != nil:
			return nil, err
		case e == nil:
			return nil, errors.New("it is not in the archive")
		case e.Kind == Regular && !e.sparse:
			return e, nil
		case e.Kind == Symlink:
			at, err = clean(path.Join(path.Dir(at), e.Target))
		case e.Kind == hardLink:
			at = e.Target
		default:
			return nil, errors.New("a regular file is expected")
		}
	}
	return nil, errors.New("a regular file is expected")
}

func (a *tarArchive) open(name string) (part, error) {
	e, err := a.find(name)
	if err != nil {
		return part{}, fmt.Errorf("%s: %w", name, err)
	}
	return part{io.NewSectionReader(a.data, e.off, e.Size), a.key, a.id}, nil
}

// text reads a part that has to be short.
func text(from archive, name string) ([]byte, error) {
	p, err := from.open(name)
	if err != nil {
		return nil, err
	}
	if p.Size() > maxJSON {
		return nil, fmt.Errorf("%s: %w", name, &LimitError{"bytes of JSON", maxJSON})
	}
	b := make([]byte, p.Size())
	if _, err := io.ReadFull(p, b); err != nil {
		return nil, fmt.Errorf("%s: %w", name, errCut)
	}
	return b, nil
}
