package syscalls

import "os"

// A fileConfig says what files the guest has.
type fileConfig struct {
	// Dir is the working directory, a path of the host. Root, if set, is the host's directory that is the guest's "/", and Sysroot
	// one that absolute paths are looked for in first.
	Dir, Root, Sysroot string
	// ReadOnly says that no file of the host is changed but the standard ones.
	ReadOnly bool
	// ShmDir is where /dev/shm is made: "" for the host's.
	ShmDir                string
	Stdin, Stdout, Stderr *os.File
	// BeforeOutput is called, if set, before something is written to a device.
	BeforeOutput func()
}

// A fileSystem is what the kernel knows of files.
type fileSystem struct {
	cfg     fileConfig
	inodes  inodeTable
	root    rootDir
	private privateDir
	epolls  []*epollFile
	async   []*asyncFile // whose owners are told by signals
	// exclusive says whom files have woken of those that wait for them with EPOLLEXCLUSIVE.
	exclusive  map[file]exclusiveWake
	inotifies  []*inotifyFile
	lastCookie uint32                   // of inotify's renames
	locks      map[uint64][]*recordLock // by inode number
}

// fsOf returns what k knows of files.
func fsOf(k *Kernel) *fileSystem { return k.fs.(*fileSystem) }

func newFileSystem(cfg fileConfig) (*fileSystem, error) {
	fs := &fileSystem{cfg: cfg, exclusive: map[file]exclusiveWake{}, locks: map[uint64][]*recordLock{}}
	fs.inodes.init()
	if err := fs.openRoot(); err != nil {
		return nil, err
	}
	return fs, nil
}

func (fs *fileSystem) close() error {
	if fs.root.fd != noFD {
		fs.root.fd.close()
	}
	return fs.private.close()
}
