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
	// A file says itself how much memory its decoder needs, up to 4 GiB, and the one that there is in Go has no bound for that.
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

// unpack copies what r has, decompressed, to w: errTooLong if that is more than limit bytes.
func (c *compression) unpack(w io.Writer, r io.Reader, limit int64) error {
	in, err := c.open(bufio.NewReaderSize(r, 1<<20))
	if err != nil {
		return err
	}
	if d, ok := in.(*zstd.Decoder); ok {
		defer d.Close()
	}
	n, err := io.Copy(w, io.LimitReader(in, limit+1))
	if err == nil && n > limit {
		err = errTooLong
	}
	return err
}
