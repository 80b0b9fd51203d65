package host

import (
	"strings"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// A Place names a host file: path, relative to dir if that is not NoFD.
type Place struct {
	Dir  FD
	Path string
	// Final says that path is one name: if it is a link it was none when it was looked at, and is not followed.
	Final bool
}

// Existing is p for calls that make nothing: those would follow a link in front of a slash.
func (p Place) Existing() Place {
	if p.Final && len(p.Path) > 1 {
		p.Path = strings.TrimSuffix(p.Path, "/")
	}
	return p
}

// XattrPath is a path for the host's calls on extended attributes.
func (p Place) XattrPath() string {
	if p.Dir == NoFD {
		return p.Path
	}
	return p.Dir.Again().Path + "/" + p.Existing().Path
}

// A Stat is what we take from the host's stat(2).
type Stat struct {
	Dev, Ino uint64
	Mode     uint32
	Nlink    uint64
	UID, GID uint32
	Rdev     uint64
	Size     int64
	Times
}

// A Dirent is a directory entry of the host.
type Dirent struct {
	Name string
	Ino  uint64
	Type uint8
}

// A PollFD is a host file and the poll(2) events waited for.
type PollFD struct {
	FD     FD
	Events uint32
}

// A Time is a time of a file, if it is set: seconds since 1970, which nanoseconds would not reach, and nanoseconds.
type Time struct {
	Sec  int64
	Nsec int32
	Set  bool
}

// The Times of a file are when it was read, written, and its inode changed.
type Times struct{ Atime, Mtime, Ctime Time }

// IsDir is the flag of events about st.
func (st Stat) IsDir() uint32 {
	if st.Mode&linux.S_IFMT == linux.S_IFDIR {
		return linux.IN_ISDIR
	}
	return 0
}

// A FileID is a file of the host, or a path of ours if dev is 0.
type FileID struct {
	Dev, Ino uint64
	Path     string
}
