package vfs

import (
	"bytes"
	"io"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// Immutable is what nodes of file systems embed in which nothing changes: what changes something is refused with EROFS,
// and whoever asks may read.
type Immutable struct{}

// Access lets everybody read.
func (Immutable) Access(mask uint32) linux.Errno {
	if mask&2 != 0 {
		return linux.EROFS
	}
	return 0
}

func (Immutable) SetAttr(Attr) linux.Errno                             { return linux.EROFS }
func (Immutable) Create(string, uint32, uint64) (Node, linux.Errno)    { return nil, linux.EROFS }
func (Immutable) CreateOpen(string, uint32, int) (Handle, linux.Errno) { return nil, linux.EROFS }
func (Immutable) Symlink(string, string) (Node, linux.Errno)           { return nil, linux.EROFS }
func (Immutable) Temp(uint32, int) (Handle, linux.Errno)               { return nil, linux.EROFS }
func (Immutable) Link(string, Node) linux.Errno                        { return linux.EROFS }
func (Immutable) Unlink(string, bool) linux.Errno                      { return linux.EROFS }
func (Immutable) Rename(string, Node, string, uint32) linux.Errno      { return linux.EROFS }
func (Immutable) Setxattr(string, []byte, int) linux.Errno             { return linux.EROFS }
func (Immutable) Removexattr(string) linux.Errno                       { return linux.EROFS }

// Fill makes c have what from has. Zeros become holes.
func Fill(c Content, from io.Reader) linux.Errno {
	to, e := c.Open(linux.O_WRONLY)
	if e != 0 {
		return e
	}
	defer to.Close()
	buf, zero := make([]byte, copySize), make([]byte, copySize)
	for off := int64(0); ; {
		n, err := io.ReadFull(from, buf)
		if !bytes.Equal(buf[:n], zero[:n]) {
			if put, e := to.WriteAt(buf[:n], off); e != 0 || put < n {
				return cmpErrno(e, linux.ENOSPC)
			}
		}
		off += int64(n)
		switch {
		case err == io.EOF, err == io.ErrUnexpectedEOF:
			return to.Truncate(off)
		case err != nil:
			return linux.EIO
		}
	}
}
