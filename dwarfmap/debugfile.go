package dwarfmap

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/cgemu/cgemu/internal/nonblock"
)

// debugRoot is where distributions install debug files.
const debugRoot = "/usr/lib/debug"

// maxChecked is the size of the largest debug file whose checksum is computed. Those with a build-id are
// known by that.
const maxChecked = 8 << 30

// open opens a regular file.
func (o *Options) open(path string) (*os.File, error) {
	if o.Open != nil {
		return o.Open(path)
	}
	return openRegular(path)
}

// openRegular opens a regular file. Anything else might wait for ever, or do something, when it is opened.
func openRegular(path string) (*os.File, error) {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil, cmp.Or(err, error(&fs.PathError{Op: "open", Path: path, Err: errNotRegular}))
	}
	f, err := os.OpenFile(path, os.O_RDONLY|nonblock.Flag, 0) // it may have become a FIFO
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, cmp.Or(err, error(&fs.PathError{Op: "open", Path: path, Err: errNotRegular}))
	}
	return f, nil
}

// A stoppable reads a file until it is to be read no more.
type stoppable struct {
	io.Reader
	m *image
}

// Read implements io.Reader.
func (s stoppable) Read(b []byte) (int, error) {
	if s.m.stopped() {
		return 0, ErrStopped
	}
	return s.Reader.Read(b)
}

var errNotRegular = errors.New("not a regular file")

// DebugFile returns the path of the separate debug file that names and lines are taken from where the object has none,
// "" if there is none or none is needed.
func (o *Object) DebugFile() string {
	if hasAll(o.main, []string{".symtab", ".debug_line"}) {
		return ""
	}
	if debug := o.debugFile(); debug != nil {
		return debug.path
	}
	return ""
}

// debugFile returns the separate debug file, nil if there is none.
func (o *Object) debugFile() *image {
	if !o.debugKnown {
		o.debugKnown = true
		o.debug = o.findDebug()
	}
	return o.debug
}

// image returns the object itself if it has the sections named, else its debug
// file if that has them, else nil. So a debug file serves for what the object
// lacks, as in Valgrind.
func (o *Object) image(sections ...string) *image {
	if hasAll(o.main, sections) {
		return o.main
	}
	if debug := o.debugFile(); debug != nil && hasAll(debug, sections) {
		return debug
	}
	return nil
}

func hasAll(m *image, sections []string) bool {
	for _, name := range sections {
		if !m.has(name) {
			return false
		}
	}
	return true
}

// findDebug looks for the debug file where Valgrind does (readelf.c,
// find_debug_file) and, by build-id, in the extra directories too.
func (o *Object) findDebug() *image {
	id := o.main.buildID()
	roots := append([]string{debugRoot}, o.opts.ExtraDebugPaths...)
	if len(id) > 2 {
		for _, root := range roots {
			if m := o.openDebug(path.Join(root, ".build-id", id[:2], id[2:]+".debug"), id, 0); m != nil {
				return m
			}
		}
	}
	name, crc, ok := o.debugLink()
	if !ok {
		return o.fetchDebug(id)
	}
	dir := path.Dir(o.path)
	if !path.IsAbs(dir) {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return nil
		}
		dir = filepath.ToSlash(abs)
	}
	paths := o.beside(dir, name)
	for _, root := range roots {
		paths = append(paths, path.Join(root, dir, name))
	}
	for _, file := range paths {
		if m := o.openDebug(file, id, crc); m != nil {
			return m
		}
	}
	return o.fetchDebug(id)
}

// fetchDebug asks for the debug file with a build-id elsewhere.
func (o *Object) fetchDebug(id string) *image {
	if o.opts.Fetch == nil || id == "" || isDone(o.opts.Done) {
		return nil
	}
	file := o.opts.Fetch(id, o.opts.Done)
	if file == "" {
		return nil
	}
	f, err := openRegular(file)
	if err != nil {
		return nil
	}
	return o.debugOf(f, file, id, 0)
}

// beside returns where the debug file may be that lies beside the object.
func (o *Object) beside(dir, name string) (paths []string) {
	for _, file := range []string{path.Join(dir, name), path.Join(dir, ".debug", name)} {
		if o.opts.Resolve != nil {
			var ok bool
			if file, ok = o.opts.Resolve(file); !ok {
				continue
			}
		}
		paths = append(paths, file)
	}
	return paths
}

// debugLink returns the contents of .gnu_debuglink: a file name and the CRC-32
// of that file (GDB manual, "Separate Debug Files").
func (o *Object) debugLink() (name string, crc uint32, ok bool) {
	data, err := o.main.data(".gnu_debuglink")
	if err != nil {
		o.fail(err)
		return "", 0, false
	}
	end := bytes.IndexByte(data, 0)
	at := (end + 4) &^ 3
	// A name with directories would lead to files that have nothing to do with the object.
	if end <= 0 || at+4 > len(data) || bytes.IndexByte(data[:end], '/') >= 0 {
		return "", 0, false
	}
	return string(data[:end]), binary.LittleEndian.Uint32(data[at:]), true
}

// openDebug opens a debug file if it is the one wanted: its build-id is id or,
// where id is empty, its checksum is crc.
func (o *Object) openDebug(path, id string, crc uint32) *image {
	f, err := o.opts.open(path)
	if err != nil {
		return nil
	}
	return o.debugOf(f, path, id, crc)
}

// debugOf is openDebug of a file that is open.
func (o *Object) debugOf(f *os.File, path, id string, crc uint32) *image {
	m, err := newImage(f, path, o.room, o.opts.Done)
	if err == nil {
		m.closer = f
		if id != "" && m.buildID() == id {
			return m
		}
		if id == "" {
			h := crc32.NewIEEE()
			if n, err := io.Copy(h, io.LimitReader(stoppable{f, m}, maxChecked+1)); err == nil && n <= maxChecked && h.Sum32() == crc {
				return m
			}
		}
	}
	f.Close()
	return nil
}
