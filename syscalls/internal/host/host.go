package host

import (
	"net/netip"
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
	// Sparse says that a regular file takes less than its size: it may have holes.
	Sparse bool
	Times
}

// A Dirent is a directory entry of the host.
type Dirent struct {
	Name string
	Ino  uint64
	Type uint8
}

// A Pollable tells which poll(2) events it has: an FD, or a Socket.
type Pollable interface{ Poll(events uint32) uint32 }

// A PollFD is a host file and the poll(2) events waited for.
type PollFD struct {
	On     Pollable // NoFD for nothing: time passes
	Events uint32
}

// A Network is how guests reach other machines.
type Network interface {
	// Socket makes a socket of AF_INET that does not block.
	Socket(typ int) (Socket, linux.Errno)
	// Wait is PollWait, of which the Network may keep what it returned.
	Wait(fds []PollFD, d int64) bool
	// Close gives the Network up, when all its sockets are closed and what they were given is sent.
	Close()
}

// A Socket is a socket of a Network.
type Socket interface {
	Pollable
	// Connect begins to connect to an address: EINPROGRESS as long as it does.
	Connect(a netip.AddrPort) linux.Errno
	// SendTo sends b to an address, or, if that is not valid, to where the socket is connected to.
	SendTo(b []byte, to netip.AddrPort) (int, linux.Errno)
	// ReceiveFrom receives into b, at most one datagram; n may be more than len(b) with MSG_TRUNC.
	ReceiveFrom(b []byte, flags uint32) (n int, from netip.AddrPort, e linux.Errno)
	// SocketError is SO_ERROR, PendingBytes FIONREAD.
	SocketError() linux.Errno
	PendingBytes() int
	// Shutdown ends receiving (0), sending (1) or both (2).
	Shutdown(how int) linux.Errno
	Close() linux.Errno
}

// Wait implements Network.
func (*OwnNetwork) Wait(fds []PollFD, d int64) bool { return PollWait(fds, d) }

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
