package image

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"errors"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// A compression is a way in which data may be compressed.
type compression struct {
	name, magic string
	open        func(io.Reader) (io.Reader, error)
}

var errTooLong = errors.New("it is too long when decompressed")

var errXZ = errors.New("it is compressed by xz, which is not read here: decompress it, by xz -d, or compress it by gzip or zstd")

// maxWindow is how much memory a decoder may take for what it has decoded before.
const maxWindow = 128 << 20

var compressions = []compression{
	{"gzip", "\x1f\x8b", func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }},
	{"zstd", "\x28\xb5\x2f\xfd", func(r io.Reader) (io.Reader, error) {
		return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderMaxMemory(maxUnpacked))
	}},
	{"bzip2", "BZh", func(r io.Reader) (io.Reader, error) { return bzip2.NewReader(r), nil }},
	// A file says itself how much memory its decoder needs, up to 4 GiB, and the one that there is in Go has no bound
	// for that.
	{"xz", "\xfd7zXZ\x00", func(io.Reader) (io.Reader, error) { return nil, errXZ }},
}

// compressionOf finds how data is compressed by its beginning, nil if it is not.
func compressionOf(r io.ReaderAt) (*compression, error) {
	var start [8]byte
	n, err := r.ReadAt(start[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	for i := range compressions {
		if c := &compressions[i]; bytes.HasPrefix(start[:n], []byte(c.magic)) {
			return c, nil
		}
	}
	return nil, nil
}

// An unpacker decompresses what is read of it, and writes that to a file, too.
type unpacker struct {
	from io.Reader
	to   io.Writer
	// left is how many bytes more there may be, size how many there were.
	left, size int64
	// failed is why it cannot go on.
	failed error
}

// unpacker returns what decompresses r: errTooLong if there are more than limit bytes.
func (c *compression) unpacker(r io.Reader, to io.Writer, limit int64) *unpacker {
	u := &unpacker{to: to, left: limit}
	u.from, u.failed = c.open(bufio.NewReaderSize(r, 1<<20))
	return u
}

// Read implements io.Reader.
func (u *unpacker) Read(b []byte) (n int, err error) {
	if u.failed != nil {
		return 0, u.failed
	}
	n, err = u.from.Read(b)
	u.size, u.left = u.size+int64(n), u.left-int64(n)
	if u.left < 0 {
		err = errTooLong
	} else if _, e := u.to.Write(b[:n]); e != nil {
		err = e
	}
	if !errors.Is(err, io.EOF) {
		u.failed = err
	}
	return n, err
}

// close gives up what decompressing takes.
func (u *unpacker) close() {
	if d, ok := u.from.(*zstd.Decoder); ok && d != nil {
		d.Close()
	}
}
