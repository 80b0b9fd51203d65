package syscalls

import (
	"strconv"
	"strings"
)

// A place names a host file: path, relative to dir if that is not noFD.
type place struct {
	dir  hostFD
	path string
	// final says that path is one name: if it is a link it was none when it was looked at, and is not followed.
	final bool
}

// again is the place of f itself, whatever its name leads to.
func (f hostFD) again() place { return place{dir: noFD, path: "/proc/self/fd/" + strconv.Itoa(int(f))} }

// existing is p for calls that make nothing: those would follow a link in front of a slash.
func (p place) existing() place {
	if p.final && len(p.path) > 1 {
		p.path = strings.TrimSuffix(p.path, "/")
	}
	return p
}

// xattrPath is a path for the host's calls on extended attributes.
func (p place) xattrPath() string {
	if p.dir == noFD {
		return p.path
	}
	return p.dir.again().path + "/" + p.existing().path
}

// A hostStat is what we take from the host's stat(2).
type hostStat struct {
	dev, ino uint64
	mode     uint32
	nlink    uint64
	uid, gid uint32
	rdev     uint64
	size     int64
	fileTimes
}

// A hostDirent is a directory entry of the host.
type hostDirent struct {
	name string
	ino  uint64
	typ  uint8
}

// A hostPoll is a host file and the poll(2) events waited for.
type hostPoll struct {
	fd     hostFD
	events uint32
}

// A fileTime is a time of a file, if it is set: seconds since 1970, which nanoseconds would not reach, and nanoseconds.
type fileTime struct {
	sec  int64
	nsec int32
	set  bool
}

// The fileTimes of a file are when it was read, written, and its inode changed.
type fileTimes struct{ atime, mtime, ctime fileTime }
