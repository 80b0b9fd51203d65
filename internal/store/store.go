// Package store keeps what this program can make again, but would rather find: files in a directory of the user's, each
// for the binary that wrote it.
//
// A file that is missing, that another user could have written, or that there is no room for means that it is made
// again: nothing here is an error. The files of a directory take no more than a limit together, or a quarter of it more
// for each other program that writes there; those go first that were not read for the longest time.
package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cgemu/cgemu/internal/outfile"
)

// DefaultDir is the directory for what is kept, "" if there is no place for one.
func DefaultDir() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "cgemu", "code")
}

// DefaultLimit is what the files of a directory take together, in bytes.
const DefaultLimit = 1 << 30

// A Store is a directory with files of this binary.
type Store struct {
	dir, version string
	limit        int64

	mu sync.Mutex
	// room is how much may be written before the files are looked at again.
	room int64
}

// Open returns the store in a directory, which it makes, with files of up to limit bytes together. It returns nil, of
// which nothing is kept, if dir is "", if it is not the user's alone, or if this binary cannot be told from others.
func Open(dir string, limit int64) *Store {
	version := buildID()
	if dir == "" || version == "" || os.MkdirAll(dir, 0o700) != nil {
		return nil
	}
	if info, err := os.Stat(dir); err != nil || !Private(info) {
		return nil
	}
	return &Store{dir: dir, version: version, limit: limit}
}

// Identify returns a text that changes when the file at a path does: another one is there, or that was written to. It
// is "" where that cannot be told.
func (s *Store) Identify(path string) string { return identity(path) }

// nameLen is the length of names of files, which are hexadecimal. What is about to be written has a dot in front, and
// more behind.
const nameLen = 32

// named reports whether a file's name is one that path gives, or that of one that is about to be written.
func named(name string) bool {
	name = strings.TrimPrefix(name, ".")
	return len(name) >= nameLen && strings.Trim(name[:nameLen], "0123456789abcdef") == ""
}

// path returns where what has a name is kept.
func (s *Store) path(name string) string {
	sum := sha256.Sum256([]byte(s.version + "\x00" + name))
	return filepath.Join(s.dir, hex.EncodeToString(sum[:nameLen/2]))
}

// Load returns what is kept under a name, nil if nothing is. Who reads it has to look whether it is whole; nobody
// writes to it. release gives back the memory of a part of it, which is read again when it is looked at; or of all,
// which must not be looked at any more.
func (s *Store) Load(name string) (b []byte, release func(part []byte)) {
	if s == nil {
		return nil, nil
	}
	path := s.path(name)
	f, err := os.Open(path)
	if err != nil {
		return nil, nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || !Private(info) {
		return nil, nil
	}
	now := time.Now()
	os.Chtimes(path, now, now) // an error makes it look older than it is
	b, release, err = contents(f, info.Size())
	if err != nil {
		return nil, nil
	}
	return b, release
}

// Save keeps what write writes under a name, in place of what was. The old file stays if write fails.
func (s *Store) Save(name string, write func(io.Writer) error) {
	if s == nil {
		return
	}
	path := s.path(name)
	if outfile.Write(context.Background(), path, 0o600, write) != nil {
		return
	}
	info, err := os.Stat(path)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.room -= info.Size()
	}
	if s.room <= 0 {
		s.room = s.shrink() / 4 // others write, too, and do not say so
	}
}

// shrink removes, if the files take more than the limit, those that were not read for the longest time, until an eighth
// of it is free: a full directory need not be gone through after each file. It returns how far the others are below the
// limit.
func (s *Store) shrink() int64 {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return 0
	}
	var files []fs.FileInfo
	left := s.limit
	for _, e := range entries {
		if !named(e.Name()) {
			continue // somebody else's: the directory may have been made for something else
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			files = append(files, info)
			left -= info.Size()
		}
	}
	if left >= 0 {
		return left
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), cmp.Compare(b.Name(), a.Name()))
	})
	for _, info := range files {
		if left >= s.limit/8 {
			break
		}
		os.Remove(filepath.Join(s.dir, info.Name()))
		left += info.Size()
	}
	return left
}
