package image

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Options say how an image is read.
type Options struct {
	// Cache is a directory for lists of files and for what was compressed, which is made if it is not there; "" for
	// none: all is done each time, and decompressed data is in a temporary file.
	Cache string
}

// A Config is what an image says about the program to be run.
type Config struct {
	Env, Entrypoint, Cmd []string
	WorkingDir, User     string
}

// An Image is an opened image.
type Image struct {
	// Config is empty for a tar archive of a root directory.
	Config Config
	// Root is its root directory.
	Root   *File
	closes []io.Closer
}

// platform is that of the programs that can be run.
var platform = v1.Platform{OS: "linux", Architecture: "amd64"}

// A LayerError says which layer is wrong.
type LayerError struct {
	Number, Of int
	Err        error
}

func (e *LayerError) Error() string {
	return fmt.Sprintf("layer %d of %d: %v", e.Number, e.Of, e.Err)
}

func (e *LayerError) Unwrap() error { return e.Err }

// Open opens the image in a file or directory. Behind the name and a colon may stand which one of several is meant, by
// one of its tags.
func Open(name string, o Options) (*Image, error) {
	file, tag := splitTag(name)
	m, err := openAt(file, tag, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return m, nil
}

// splitTag takes the tag off a name, unless there is a file called like all of it.
func splitTag(name string) (file, tag string) {
	if _, err := os.Lstat(name); err == nil {
		return name, ""
	}
	for i, c := range name {
		if c != ':' || i == 0 || i+1 == len(name) {
			continue
		}
		if _, err := os.Stat(name[:i]); err == nil {
			return name[:i], name[i+1:]
		}
	}
	return name, ""
}

// reference is the name of an image in a registry or in docker's store: debian:12, ghcr.io/owner/app.
var reference = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[a-z0-9][a-z0-9._-]*(:[0-9]+)?(/[a-z0-9][a-z0-9._-]*)*(:\w[\w.-]*)?(@sha256:[0-9a-f]{64})?$`)
})

// archiveName is what files with an image are called.
var archiveName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\.(tar|tgz|tzst|tbz2?|gz|zst|bz2)(:[^/]*)?$`)
})

// fetched says how a file is made of an image that is known by its reference.
func fetched(reference string) string {
	file, _, _ := strings.Cut(path.Base(reference), ":")
	file, _, _ = strings.Cut(file, "@")
	return fmt.Sprintf("a file is expected: docker save %s >%s.tar, or crane pull %[1]s %[2]s.tar, makes one", reference, file)
}

func openAt(name, tag string, o Options) (_ *Image, err error) {
	o2 := &opener{cache: newCache(o.Cache)}
	m := &Image{}
	defer func() {
		m.closes = o2.closes
		if err != nil {
			m.Close()
		}
	}()
	info, err := os.Stat(name)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) && reference().MatchString(name) && !archiveName().MatchString(name) {
			return nil, fmt.Errorf("%w (%s)", errors.Unwrap(err), fetched(name))
		}
		return nil, errors.Unwrap(err) // whose path Open tells
	}
	var from archive
	var root *layer
	switch {
	case info.IsDir():
		from = directory{name, o2}
	case info.Mode().IsRegular():
		if from, root, err = o2.openFile(name); err != nil {
			return nil, err
		}
	default:
		return nil, errors.New("a file or a directory is expected")
	}
	layers := []*layer{root}
	if from != nil {
		if layers, err = m.read(from, tag, o2); err != nil {
			return nil, err
		}
	} else if tag != "" {
		return nil, fmt.Errorf("it is an archive of files, and no image that could be called %q", tag)
	}
	m.Root, err = join(layers, from != nil)
	return m, err
}

// read finds the image in an archive, and opens its layers.
func (m *Image) read(from archive, tag string, o *opener) ([]*layer, error) {
	found, err := find(from, tag)
	if err != nil {
		return nil, err
	}
	m.Config = found.config
	if len(found.layers) > maxLayers {
		return nil, &LimitError{"layers", maxLayers}
	}
	layers := make([]*layer, len(found.layers))
	opened := map[v1.Hash]*layer{} // many images have a layer that is empty more than once
	for i, l := range found.layers {
		if layers[i] = opened[l.diffID]; layers[i] != nil {
			err = o.lister.again(layers[i].list)
		} else {
			layers[i], err = o.openLayer(from, l)
		}
		if err != nil {
			return nil, &LayerError{i + 1, len(layers), err}
		}
		opened[l.diffID] = layers[i]
	}
	return layers, nil
}

// Close closes the files of the image.
func (m *Image) Close() error {
	var all []error
	for _, c := range m.closes {
		all = append(all, c.Close())
	}
	m.closes = nil
	return errors.Join(all...)
}

// DefaultCache is the directory of the cache, "" if there is no place for one.
func DefaultCache() string {
	dir, err := os.UserCacheDir()
	if err != nil || !filepath.IsAbs(dir) {
		return ""
	}
	return filepath.Join(dir, "cgemu", "images")
}
