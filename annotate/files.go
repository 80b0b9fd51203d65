package annotate

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/cgemu/cgemu/internal/nonblock"
)

// hostFiles are the host's files as an fs.FS, by the names that the host has for them.
type hostFiles struct{}

// Open implements fs.FS. It does not wait for the other end of a FIFO.
func (hostFiles) Open(name string) (fs.File, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|nonblock.Flag, 0)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Stat implements fs.StatFS.
func (hostFiles) Stat(name string) (fs.FileInfo, error) { return os.Stat(name) }

// rootedFiles are the files of an fs.FS by the names that profiles have: /src/a.c is its src/a.c.
type rootedFiles struct{ fs.FS }

// Open implements fs.FS.
func (f rootedFiles) Open(name string) (fs.File, error) { return f.FS.Open(rooted(name)) }

// Stat implements fs.StatFS.
func (f rootedFiles) Stat(name string) (fs.FileInfo, error) { return fs.Stat(f.FS, rooted(name)) }

// rooted returns what an fs.FS of a root directory calls the file that a profile calls name.
func rooted(name string) string { return strings.TrimPrefix(path.Clean("/"+name), "/") }

// files returns where sources are.
func (o *Options) files() fs.FS {
	if o.Files == nil {
		return hostFiles{}
	}
	return rootedFiles{o.Files}
}

// join returns the name of a file in a directory.
func join(files fs.FS, dir, name string) string {
	if _, host := files.(hostFiles); host {
		return filepath.Join(dir, name)
	}
	return path.Join(dir, name)
}

// isRegular reports whether there is a file that can be read to its end.
func isRegular(files fs.FS, name string) bool {
	info, err := fs.Stat(files, name)
	return err == nil && info.Mode().IsRegular()
}
