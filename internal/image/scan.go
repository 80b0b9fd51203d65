package image

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"strings"
)

// A Kind is the type of a file.
type Kind byte

// The types of files. A hard link is another name of a file, not one of these.
const (
	Regular   Kind = 'f'
	Directory Kind = 'd'
	Symlink   Kind = 'l'
	CharDev   Kind = 'c'
	BlockDev  Kind = 'b'
	FIFO      Kind = 'p'
	hardLink  Kind = 'h'
)

var kinds = map[byte]Kind{
	tar.TypeReg: Regular, tar.TypeCont: Regular, tar.TypeGNUSparse: Regular, tar.TypeDir: Directory, tar.TypeSymlink: Symlink,
	tar.TypeLink: hardLink, tar.TypeChar: CharDev, tar.TypeBlock: BlockDev, tar.TypeFifo: FIFO,
}

// Attributes are what a file has besides names and contents.
type Attributes struct {
	Kind         Kind
	Mode         uint32 // permissions
	UID, GID     uint32
	Major, Minor uint32
	Size         int64
	Sec          int64 // when it was changed, with Nsec
	Nsec         int32
	// Target is what a symbolic link leads to.
	Target string
	Xattrs map[string]string
}

// An entry is a member of a tar archive.
type entry struct {
	// name is a clean path below the root, "" for the root itself. Of a hard link Target is such a path.
	name string
	Attributes
	// off is where the content begins or, if the file has holes, where a header begins from which on the skip-th after
	// the next one is the file's.
	off    int64
	skip   uint32
	sparse bool
}

const blockSize = 512

// A lister lists the members of archives, and counts what the lists take.
type lister struct {
	entries, text int64
}

// list lists the members of an archive of size bytes at most, of which so many were read as position says.
func (l *lister) list(r io.Reader, size int64, position func() int64) (list []entry, err error) {
	t := tar.NewReader(r)
	at, skip := int64(0), uint32(0)
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		off := position()
		if err != nil && off < blockSize {
			return nil, errNoTar
		}
		if err != nil {
			return nil, notWhole(err, len(list))
		}
		e, err := newEntry(h)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", h.Name, err)
		}
		if e.Kind == Regular && !e.sparse && e.Size > size-off {
			return nil, errCut
		}
		if e.off, e.skip = off, 0; e.sparse {
			e.off, e.skip = at, skip
			skip++
		} else if at, skip = off, 0; e.Kind == Regular {
			at += (h.Size + blockSize - 1) / blockSize * blockSize
		}
		if h.Typeflag == tar.TypeXGlobalHeader || h.Typeflag == 'V' {
			continue
		}
		if err := l.count(&e); err != nil {
			return nil, err
		}
		list = append(list, e)
	}
}

// count adds e to what there is, unless that is too much.
func (l *lister) count(e *entry) error {
	l.entries++
	l.text += int64(len(e.name) + len(e.Target))
	for k, v := range e.Xattrs {
		l.text += int64(len(k) + len(v) + attributeSize)
	}
	switch {
	case l.entries > limits.entries:
		return &LimitError{"files", limits.entries}
	case l.text > limits.text:
		return &LimitError{"bytes of names and attributes", limits.text}
	}
	return nil
}

// again counts what is in a list that was made before.
func (l *lister) again(list []entry) error {
	for i := range list {
		if err := l.count(&list[i]); err != nil {
			return err
		}
	}
	return nil
}

// notWhole is the error for a header that cannot be read behind n others.
func notWhole(err error, n int) error {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errCut
	case errors.Is(err, tar.ErrHeader) && n == 0:
		return errNoTar
	case errors.Is(err, tar.ErrHeader):
		return fmt.Errorf("it is damaged behind its first %d files: %w", n, err)
	}
	return err
}

var (
	errCut   = errors.New("it is not whole: its end is missing")
	errNoTar = errors.New("it is neither a container image (docker save, podman save, skopeo copy, an OCI layout) nor a tar archive of a root directory, plain or compressed by gzip, zstd or bzip2")
)

// checkEnd checks that what an archive has in front of end is the mark there, so that it is known to be whole.
func checkEnd(r io.ReaderAt, end int64) error {
	var last [blockSize]byte
	if end < blockSize {
		return errNoTar
	}
	if _, err := r.ReadAt(last[:], end-blockSize); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if !bytes.Equal(last[:], make([]byte, blockSize)) {
		return errCut
	}
	return nil
}

// newEntry makes an entry of a header.
func newEntry(h *tar.Header) (e entry, err error) {
	e.sparse = h.Typeflag == tar.TypeGNUSparse
	for key, value := range h.PAXRecords {
		if name, ok := strings.CutPrefix(key, "SCHILY.xattr."); ok {
			if e.Xattrs == nil {
				e.Xattrs = map[string]string{}
			}
			e.Xattrs[name] = value
		}
		e.sparse = e.sparse || strings.HasPrefix(key, "GNU.sparse.")
	}
	if h.Typeflag == tar.TypeXGlobalHeader || h.Typeflag == 'V' {
		return e, nil
	}
	if e.Kind = kinds[h.Typeflag]; e.Kind == 0 {
		return e, fmt.Errorf("it has type %q, which is unknown", h.Typeflag)
	}
	if e.Kind == Regular && strings.HasSuffix(h.Name, "/") {
		e.Kind = Directory // in archives of the oldest format
	}
	for _, x := range []struct {
		from int64
		to   *uint32
	}{{int64(h.Uid), &e.UID}, {int64(h.Gid), &e.GID}, {h.Devmajor, &e.Major}, {h.Devminor, &e.Minor}} {
		if x.from < 0 || x.from > math.MaxUint32 {
			return e, fmt.Errorf("its number %d is none of an owner or a device", x.from)
		}
		*x.to = uint32(x.from)
	}
	e.Mode = uint32(h.Mode) & 0o7777
	e.Sec, e.Nsec = h.ModTime.Unix(), int32(h.ModTime.Nanosecond())
	if e.name, err = clean(h.Name); err != nil {
		return e, err
	}
	switch e.Kind {
	case Regular:
		e.Size = h.Size
	case Symlink:
		e.Target = h.Linkname
		if e.Target == "" || len(e.Target) >= pathMax || strings.ContainsRune(e.Target, 0) {
			return e, errors.New("what it links to is no path")
		}
	case hardLink:
		e.Target, err = clean(h.Linkname)
	}
	return e, err
}

// clean makes a path in an archive one below the root.
func clean(name string) (string, error) {
	if len(name) >= pathMax {
		return "", fmt.Errorf("the path has %d bytes, and Linux's have %d at most", len(name), pathMax-1)
	}
	if strings.ContainsRune(name, 0) {
		return "", errors.New("there is a zero byte in the path")
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return "", fmt.Errorf("the path %q leads out of the root directory", name)
		}
		if len(part) > nameMax {
			return "", fmt.Errorf("a name in it has %d bytes, and Linux's have %d at most", len(part), nameMax)
		}
	}
	return strings.TrimPrefix(path.Clean("/"+name), "/"), nil
}
