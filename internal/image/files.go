package image

import (
	"io"
	"io/fs"
	"path"
	"strings"
	"time"
)

// FS is the image for those who read files by name. Links are followed.
func (m *Image) FS() fs.FS { return &fileSystem{m} }

type fileSystem struct{ m *Image }

// Open opens a file.
func (s *fileSystem) Open(name string) (fs.File, error) {
	fail := func(err error) (fs.File, error) { return nil, &fs.PathError{Op: "open", Path: name, Err: err} }
	if !fs.ValidPath(name) {
		return fail(fs.ErrInvalid)
	}
	f := s.m.Find(name)
	if f == nil {
		return fail(fs.ErrNotExist)
	}
	out := &openFile{info{f, path.Base(name)}, strings.NewReader("")}
	if f.Kind == Regular {
		r, err := f.Open()
		if err != nil {
			return fail(err)
		}
		out.Reader = r
	}
	return out, nil
}

// An openFile is a file that is open. One that is not regular is empty.
type openFile struct {
	info
	io.Reader
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *openFile) Close() error               { return nil }

// An info describes a file.
type info struct {
	f    *File
	name string
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.f.Size }
func (i info) ModTime() time.Time { return time.Unix(i.f.Sec, int64(i.f.Nsec)) }
func (i info) IsDir() bool        { return i.f.Kind == Directory }
func (i info) Sys() any           { return i.f }

var modes = map[Kind]fs.FileMode{
	Directory: fs.ModeDir, Symlink: fs.ModeSymlink, CharDev: fs.ModeDevice | fs.ModeCharDevice, BlockDev: fs.ModeDevice, FIFO: fs.ModeNamedPipe,
}

func (i info) Mode() fs.FileMode { return modes[i.f.Kind] | fs.FileMode(i.f.Mode)&fs.ModePerm }
