package image

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// A layer is a tar archive: the list of what is in it, and where that is.
type layer struct {
	data *io.SectionReader
	list []entry
}

// An opener opens the archives of one image.
type opener struct {
	cache  *cache
	lister lister
	// packed and unpacked are how many bytes were decompressed, and how many came out.
	packed, unpacked int64
	closes           []io.Closer
}

// openFile opens a file that is an image: as the archive of one, or as its only layer.
func (o *opener) openFile(name string) (archive, *layer, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, withoutPath(err)
	}
	o.closes = append(o.closes, f)
	id, size, err := identity(f)
	if err != nil {
		return nil, nil, err
	}
	abs, err := filepath.Abs(name)
	if err != nil {
		return nil, nil, err
	}
	l, err := o.open(part{io.NewSectionReader(f, 0, size), fileKey(abs), id}, nil)
	if err != nil {
		return nil, nil, err
	}
	if a := newTarArchive(l, abs, id); a != nil {
		return a, nil, nil
	}
	return nil, l, nil
}

// withoutPath is an error without the name of the file that it is about.
func withoutPath(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// A part is bytes of a file of the host's, known in the cache under a key and as what.
type part struct {
	*io.SectionReader
	key, id string
}

// openLayer opens a layer of an image.
func (o *opener) openLayer(from archive, l layerRef) (*layer, error) {
	p, err := from.open(l.name)
	if err != nil {
		return nil, err
	}
	p.key, p.id = fileKey(p.key, l.name), p.id+" "+l.diffID.String()
	return o.open(p, &l.diffID)
}

// open lists what is in a tar archive, which may be compressed, or takes that from the cache. Its digest, as it is
// decompressed, has to be want, unless that is nil.
func (o *opener) open(p part, want *v1.Hash) (*layer, error) {
	c, err := compressionOf(p)
	if err != nil {
		return nil, err
	}
	if c != nil && want != nil { // the same wherever it comes from
		p.key, p.id = layerPrefix+want.Hex, want.String()
	}
	if f, data, list, ok := o.cache.open(p.key, p.id); ok {
		l := &layer{data, list}
		if c == nil {
			f.Close()
			l.data = p.SectionReader
		} else {
			o.closes = append(o.closes, f)
		}
		return l, o.lister.again(list)
	}
	if c != nil {
		return o.unpack(c, p, want)
	}
	if want != nil {
		h := sha256.New()
		if _, err := io.Copy(h, io.NewSectionReader(p, 0, p.Size())); err != nil {
			return nil, err
		}
		if err := checkDigest(h, want); err != nil {
			return nil, err
		}
	}
	position := func() int64 {
		n, _ := p.Seek(0, io.SeekCurrent) // which cannot fail
		return n
	}
	list, err := o.lister.list(p.SectionReader, p.Size(), position)
	if err == nil && want == nil {
		err = checkEnd(p, position())
	}
	if err != nil {
		return nil, err
	}
	o.cache.keep(p.key, p.id, list)
	return &layer{p.SectionReader, list}, nil
}

func checkDigest(h hash.Hash, want *v1.Hash) error {
	if got := hex.EncodeToString(h.Sum(nil)); got != want.Hex {
		return fmt.Errorf("its digest is sha256:%s, and the image says %s: it is damaged", got, want)
	}
	return nil
}

// unpack decompresses an archive: into the cache or, if that is not possible, into a file that goes at the end.
func (o *opener) unpack(c *compression, p part, want *v1.Hash) (*layer, error) {
	before := *o
	l, err := o.unpackCached(c, p, want)
	var write *writeError
	if l != nil || err != nil && !errors.As(err, &write) {
		return l, err
	}
	o.lister, o.packed, o.unpacked = before.lister, before.packed, before.unpacked
	f, err := newTemporary()
	if err != nil {
		return nil, err
	}
	o.closes = append(o.closes, f)
	return o.unpackTo(f.File, c, p, want)
}

// unpackCached decompresses an archive into the cache. It returns nil if that cannot be written, or a writeError.
func (o *opener) unpackCached(c *compression, p part, want *v1.Hash) (*layer, error) {
	f := o.cache.create()
	if f == nil {
		return nil, nil
	}
	l, err := o.unpackTo(f, c, p, want)
	if err != nil {
		f.Close()
		os.Remove(f.Name())
		return nil, err
	}
	if err := o.cache.finish(f, p.key, p.id, l.data.Size(), l.list); err != nil {
		return nil, &writeError{err}
	}
	f, data, _, ok := o.cache.open(p.key, p.id)
	if !ok { // somebody has removed it meanwhile
		return nil, nil
	}
	o.closes = append(o.closes, f)
	return &layer{data, l.list}, nil
}

// A writeError is one of the file that is written, not of what is read.
type writeError struct{ err error }

func (e *writeError) Error() string { return "writing what it has decompressed: " + e.err.Error() }
func (e *writeError) Unwrap() error { return e.err }

// A fileWriter writes to a file and says which errors are that file's.
type fileWriter struct{ *os.File }

func (w fileWriter) Write(b []byte) (int, error) {
	n, err := w.File.Write(b)
	if err != nil {
		err = &writeError{err}
	}
	return n, err
}

// unpackTo decompresses an archive into f, and lists what is in it meanwhile: what is none, or has too much, is not
// decompressed to its end.
func (o *opener) unpackTo(f *os.File, c *compression, p part, want *v1.Hash) (*layer, error) {
	h := sha256.New()
	buffer := bufio.NewWriterSize(fileWriter{f}, 1<<20)
	var to io.Writer = buffer
	if want != nil {
		to = io.MultiWriter(to, h)
	}
	limit := unpackedLimit(o.packed + p.Size())
	u := c.unpacker(io.NewSectionReader(p, 0, p.Size()), to, limit-o.unpacked)
	defer u.close()
	list, err := o.lister.list(u, math.MaxInt64, func() int64 { return u.size })
	end := u.size
	var much *LimitError
	if err == nil || want != nil && !errors.As(err, &much) { // the digest says whether it is damaged
		io.Copy(io.Discard, u)
		if want != nil && u.failed == nil {
			err = cmp.Or(checkDigest(h, want), err)
		}
	}
	if u.failed != nil {
		return nil, c.unpackError(u.failed, limit)
	}
	if err == nil {
		err = buffer.Flush()
	}
	if err == nil && want == nil {
		err = checkEnd(f, end)
	}
	if err != nil {
		return nil, err
	}
	o.packed, o.unpacked = o.packed+p.Size(), o.unpacked+u.size
	return &layer{io.NewSectionReader(f, 0, u.size), list}, nil
}

// unpackError is the error for data that could not be decompressed, of which an image may have limit bytes.
func (c *compression) unpackError(err error, limit int64) error {
	var write *writeError
	switch {
	case errors.Is(err, errTooLong):
		return &LimitError{"bytes when decompressed", limit}
	case errors.As(err, &write), errors.Is(err, errXZ):
		return err
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return errCut
	}
	return fmt.Errorf("it is damaged: %s: %w", c.name, err)
}
