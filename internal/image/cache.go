package image

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cgemu/cgemu/internal/store"
)

// A cache is a directory with a file for each layer and archive that was read. A file has what was compressed, as it is
// decompressed, or nothing; then the list of what is in it; and a trailer that says how long both are, and has the
// list's checksum. It gets its name when it is complete, so that one that is there is whole, unless it was damaged
// since; then it is made anew. The directory is named for the format: another version of cgemu may have another one.
//
// A cache is only for speed. If it cannot be written, or others may have written to it, all goes on without.
type cache struct{ dir string }

const (
	cacheFormat = "v1"
	cacheMagic  = "cgemu image 1\n\x00\x00"
	trailerSize = 64 // the magic, two lengths, a checksum
	newPrefix   = ".new-"
	filePrefix  = "file-"        // of what is known by its place only
	layerPrefix = "sha256-"      // of a layer
	staleAfter  = 24 * time.Hour // for what others were about to write and did not
)

func newCache(dir string) *cache {
	if dir == "" {
		return nil
	}
	return &cache{filepath.Join(dir, cacheFormat)}
}

// own reports whether the directory is the user's, to which nobody else writes.
func (c *cache) own() bool {
	info, err := os.Stat(c.dir)
	return err == nil && store.Private(info)
}

// fileKey is the name in the cache for something in a file of the host's that is known by its place only.
func fileKey(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return filePrefix + hex.EncodeToString(sum[:])
}

// open returns what the cache has under a key, if that is what id says.
func (c *cache) open(key, id string) (f *os.File, data *io.SectionReader, list []entry, ok bool) {
	if c == nil || !c.own() {
		return nil, nil, nil, false
	}
	name := filepath.Join(c.dir, key)
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, nil, false
	}
	data, list, err = readCached(f, id)
	if err != nil {
		f.Close()
		return nil, nil, nil, false
	}
	now := time.Now()
	os.Chtimes(name, now, now) // so that it is not the first to go
	return f, data, list, true
}

// readCached reads a file of the cache.
func readCached(f *os.File, id string) (*io.SectionReader, []entry, error) {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || !store.Private(info) || info.Size() < trailerSize {
		return nil, nil, errList
	}
	var t [trailerSize]byte
	if _, err := f.ReadAt(t[:], info.Size()-trailerSize); err != nil || string(t[:16]) != cacheMagic {
		return nil, nil, errList
	}
	dataSize, listSize := binary.LittleEndian.Uint64(t[16:]), binary.LittleEndian.Uint64(t[24:])
	if rest := uint64(info.Size() - trailerSize); listSize > rest || dataSize != rest-listSize {
		return nil, nil, errList
	}
	var text strings.Builder
	text.Grow(int(listSize))
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(&text, sum), io.NewSectionReader(f, int64(dataSize), int64(listSize))); err != nil || !bytes.Equal(sum.Sum(nil), t[32:]) {
		return nil, nil, errList
	}
	was, list, err := decodeList(text.String())
	if err != nil || was != id {
		return nil, nil, errList
	}
	return io.NewSectionReader(f, 0, int64(dataSize)), list, nil
}

// create makes a new file, to be finished; nil if the cache cannot be written.
func (c *cache) create() *os.File {
	if c == nil {
		return nil
	}
	if err := os.MkdirAll(c.dir, 0o700); err != nil || !c.own() {
		return nil
	}
	f, err := os.CreateTemp(c.dir, newPrefix+"*")
	if err != nil {
		return nil
	}
	return f
}

// finish completes a file that has its data, closes it, since not all hosts rename files that are open, and gives it
// its name. If that is not possible the file is removed.
func (c *cache) finish(f *os.File, key, id string, dataSize int64, list []entry) error {
	err := writeList(f, id, dataSize, list)
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(c.dir, key))
	}
	if err != nil {
		os.Remove(f.Name())
		return err
	}
	c.prune(key)
	return nil
}

// writeList writes a list and the trailer behind the data.
func writeList(f *os.File, id string, dataSize int64, list []entry) error {
	sum := sha256.New()
	to := io.NewOffsetWriter(f, dataSize)
	w := bufio.NewWriterSize(io.MultiWriter(to, sum), 1<<20)
	encodeList(w, id, list)
	if err := w.Flush(); err != nil {
		return err
	}
	size, err := to.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	t := binary.LittleEndian.AppendUint64([]byte(cacheMagic), uint64(dataSize))
	t = binary.LittleEndian.AppendUint64(t, uint64(size))
	_, err = to.Write(sum.Sum(t))
	return err
}

// keep writes the list of an archive that needs no copy.
func (c *cache) keep(key, id string, list []entry) {
	if f := c.create(); f != nil {
		_ = c.finish(f, key, id, 0, list) // the next run lists it again
	}
}

// named reports whether a file's name is one of the cache's.
func named(name string) bool {
	return slices.ContainsFunc([]string{newPrefix, filePrefix, layerPrefix}, func(p string) bool { return strings.HasPrefix(name, p) })
}

// prune removes what was not used for the longest time while there is too much, but not what was written now, and what
// others left half-written.
func (c *cache) prune(but string) {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	var all []os.FileInfo
	total := int64(0)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || !named(e.Name()) {
			continue
		}
		if strings.HasPrefix(e.Name(), newPrefix) && time.Since(info.ModTime()) > staleAfter {
			os.Remove(filepath.Join(c.dir, e.Name()))
			continue
		}
		all = append(all, info)
		total += info.Size()
	}
	slices.SortFunc(all, func(a, b os.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})
	for _, info := range all {
		if total <= limits.cache {
			return
		}
		if info.Name() != but && !strings.HasPrefix(info.Name(), newPrefix) {
			os.Remove(filepath.Join(c.dir, info.Name()))
			total -= info.Size()
		}
	}
}

// A temporary is a file that goes when it is closed.
type temporary struct{ *os.File }

// newTemporary makes one that goes before, where the host lets an open file have no name.
func newTemporary() (temporary, error) {
	f, err := os.CreateTemp("", "cgemu-image-*")
	if err != nil {
		return temporary{}, err
	}
	os.Remove(f.Name())
	return temporary{f}, nil
}

// Close closes and removes the file.
func (t temporary) Close() error {
	err := t.File.Close()
	if gone := os.Remove(t.Name()); gone != nil && !errors.Is(gone, os.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return err
}
