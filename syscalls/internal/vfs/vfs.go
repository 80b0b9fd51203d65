// Package vfs has file systems: what the kernel asks of files that paths lead to, and implementations that need no
// host.
//
// An FS is a tree of nodes. A Node is an inode: a file, directory, link, FIFO, socket or device, whatever names it has.
// A Handle is a node that somebody has open. Paths never come here: whoever calls takes a path apart, and asks a
// directory for one name at a time. So "." and ".." are never asked for, and links are not followed.
//
// MemFS is a file system in memory; NewOverlay makes one that begins with what other file systems have, and leaves
// those as they are; a Namespace joins several into one tree. The host's directories are an implementation of these
// interfaces in package host.
//
// Errors are Linux's. A file system belongs to one user, for whom it checks permissions as Linux does.
package vfs

import "github.com/cgemu/cgemu/syscalls/internal/linux"

// An FS is a file system.
type FS interface {
	Root() Node
	// Close gives back what the file system has taken of the host. No node of it is used afterwards.
	Close() linux.Errno
}

// A Node is a file by itself, not by a name. Nodes can be compared: two are equal if they are the same file. One whose
// last name has gone can be used as long as it is open.
type Node interface {
	Stat() (Stat, linux.Errno)
	SetAttr(Attr) linux.Errno
	// Access reports whether the user may read (4), write (2) or execute (1) the file.
	Access(mask uint32) linux.Errno

	// Lookup returns the file called name in a directory.
	Lookup(name string) (Node, linux.Errno)
	// ReadDir lists a directory, sorted by name.
	ReadDir() ([]Dirent, linux.Errno)
	// Create makes a file of the type and with the permissions that mode has. No umask is applied.
	Create(name string, mode uint32, rdev uint64) (Node, linux.Errno)
	// CreateOpen makes a regular file and opens it, whatever its permissions let others do.
	CreateOpen(name string, mode uint32, flags int) (Handle, linux.Errno)
	Symlink(name, target string) (Node, linux.Errno)
	// Temp opens a new file without a name (O_TMPFILE). Link can give it one.
	Temp(mode uint32, flags int) (Handle, linux.Errno)
	Link(name string, to Node) linux.Errno
	// Unlink removes a name: of a directory if dir is set, which has to be empty, otherwise of anything else.
	Unlink(name string, dir bool) linux.Errno
	// Rename makes name in this directory newName in another one. Its flags are those of renameat2(2).
	Rename(name string, newDir Node, newName string, flags uint32) linux.Errno

	Readlink() (string, linux.Errno)
	// Open opens the content of a regular file or a FIFO, with flags of open(2): O_TRUNC empties the file. A directory,
	// and with O_PATH anything else, is opened so that the node can be used when its last name has gone.
	Open(flags int) (Handle, linux.Errno)

	// Extended attributes are as in xattr(7).
	Getxattr(name string) ([]byte, linux.Errno)
	Setxattr(name string, value []byte, flags int) linux.Errno
	Listxattr() ([]string, linux.Errno)
	Removexattr(name string) linux.Errno

	// Path is the name by which the file was found last, from the file system's root on, which is "/". If that and all
	// others that are known have gone, ok is false, and the path is the last one that went.
	Path() (path string, ok bool)
	// Parent is the directory that a directory is in, or was in before it was removed; the root's is the root.
	Parent() Node
}

// Data is an opened content. ReadAt and WriteAt return fewer bytes than they were given at the end of the file only; a
// Data that was opened with O_APPEND writes at the end, whatever the offset.
type Data interface {
	ReadAt(b []byte, off int64) (int, linux.Errno)
	WriteAt(b []byte, off int64) (int, linux.Errno)
	Truncate(size int64) linux.Errno
	// Allocate is fallocate(2).
	Allocate(mode uint32, off, n int64) linux.Errno
	Sync() linux.Errno
	// Descriptor is the host's descriptor of the content, for those that map it or hand it to the host. It is Data's,
	// and closed with it.
	Descriptor() (fd int, ok bool)
	Close() linux.Errno
}

// A Handle is a node that is open.
type Handle interface {
	Data
	Node() Node
}

// Flags of renameat2(2).
const (
	RenameNoReplace = 1
	RenameExchange  = 2
)

// nameMax is how long a name can be.
const nameMax = 255

// A Time is a time of a file: seconds since 1970, and nanoseconds.
type Time struct {
	Sec  int64
	Nsec int32
}

// A Stat is what stat(2) tells of a file. Dev and Ino together belong to no other file that is there.
type Stat struct {
	Dev, Ino            uint64
	Mode                uint32
	Nlink               uint64
	UID, GID            uint32
	Rdev                uint64
	Size                int64
	Sparse              bool // a regular file that takes less on the host than its size, and may have holes
	Atime, Mtime, Ctime Time
}

// Kind is the type of the file, one of S_IFREG, S_IFDIR and so on.
func (s *Stat) Kind() uint32 { return s.Mode & linux.S_IFMT }

// An Attr is what SetAttr changes: whatever is not nil.
type Attr struct {
	Mode         *uint32 // permissions
	UID, GID     *uint32
	Size         *int64
	Atime, Mtime *Time
}

// A Dirent is an entry of a directory. Mode is the file's type.
type Dirent struct {
	Name string
	Ino  uint64
	Mode uint32
}
