package syscalls

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// A FileConfig says what files the guest has.
type FileConfig struct {
	// Dir is its working directory, "" for ours.
	Dir string
	// Sysroot is a host directory: absolute guest paths are looked for there first.
	Sysroot string
	// Root is a host directory that is the guest's "/": it sees nothing else of the host's files but the standard ones.
	Root string
	// Overlay says that what the guest changes in files, those below Root if that is set, stays in memory and is gone at the end. Not the
	// standard ones.
	Overlay bool
	// Binds are directories of the host that are seen at other places, too. What the guest changes there is changed on the host.
	Binds []Bind
	// ReadOnly says that the guest changes no file of the host but the standard ones.
	ReadOnly bool
	// ShmDir is a directory of the host for the guest's /dev/shm, which is made there when it is first needed and removed at the end:
	// "" for one in the host's /dev/shm.
	ShmDir string
	// Stdin, Stdout and Stderr are its first three files: nil for ours.
	Stdin, Stdout, Stderr *os.File
	// BeforeOutput, if set, is called before the program writes to a device, as terminals are.
	BeforeOutput func()
}

// rootDir is the host's directory that is the guest's "/", "" if the guest is to see the host's files as they are.
func (c *FileConfig) rootDir() string {
	if c.Overlay || len(c.Binds) > 0 {
		return cmp.Or(c.Root, "/")
	}
	return c.Root
}

// A fileSystem is what the kernel knows of files.
type fileSystem struct {
	cfg     FileConfig
	inodes  inodeTable
	root    rootDir
	private privateDir
	// contents is where contents of files are that have changed below an overlay.
	contents privateDir
	epolls   []*epollFile
	async    []*asyncFile // whose owners are told by signals
	// exclusive says whom files have woken of those that wait for them with EPOLLEXCLUSIVE.
	exclusive  map[file]exclusiveWake
	inotifies  []*inotifyFile
	lastCookie uint32                   // of inotify's renames
	locks      map[uint64][]*recordLock // by inode number
}

// fsOf returns what k knows of files.
func fsOf(k *Kernel) *fileSystem { return k.fs.(*fileSystem) }

// newFileSystem makes the file system of a kernel whose clock is now.
func newFileSystem(cfg FileConfig, now func() fileTime) (*fileSystem, error) {
	for _, f := range []struct {
		file **os.File
		std  *os.File
	}{{&cfg.Stdin, os.Stdin}, {&cfg.Stdout, os.Stdout}, {&cfg.Stderr, os.Stderr}} {
		if *f.file == nil {
			*f.file = f.std
		}
	}
	var err error
	if cfg.Dir, err = filepath.Abs(cfg.Dir); err != nil { // for "" the working directory
		return nil, fmt.Errorf("syscalls: working directory: %w", err)
	}
	fs := &fileSystem{cfg: cfg, exclusive: map[file]exclusiveWake{}, locks: map[uint64][]*recordLock{}}
	fs.inodes.init()
	if err := fs.openRoot(now); err != nil {
		return nil, errors.Join(err, fs.close())
	}
	return fs, nil
}

func (fs *fileSystem) close() error {
	if fs.root.fs != nil {
		fs.root.fs.Close()
	}
	if fs.root.fd != noFD {
		fs.root.fd.close()
	}
	return errors.Join(fs.private.close(), fs.contents.close())
}
