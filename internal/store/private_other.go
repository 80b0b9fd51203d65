//go:build !unix

package store

import (
	"io"
	"io/fs"
	"os"
)

// contents reads a file.
func contents(f *os.File, size int64) (b []byte, release func(part []byte), err error) {
	b, err = io.ReadAll(io.LimitReader(f, size))
	return b, func([]byte) {}, err
}

// Private: the directory is that of the user's profile, whose permissions are the system's business.
func Private(fs.FileInfo) bool { return true }
