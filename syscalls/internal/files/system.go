package files

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/internal/image"
	"github.com/cgemu/cgemu/syscalls/internal/host"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/record"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/vfs"
)

// A Config says what files the guest has.
type Config struct {
	// Dir is its working directory, "" for ours.
	Dir string
	// Sysroot is a host directory: absolute guest paths are looked for there first.
	Sysroot string
	// Root is a host directory that is the guest's "/": it sees nothing else of the host's files but the standard ones.
	Root string
	// NewRoot, if set, makes the file system that is the guest's "/", in place of a host directory. The options are for
	// what of it is in memory: whose files, in which places of the host their contents may be.
	NewRoot func(vfs.MemOptions) (vfs.FS, linux.Errno)
	// HostDirs are directories that the guest has besides Dir where the host is not Linux, and its root one of ours.
	HostDirs []string
	// Image is a container image, or another archive of a root directory, whose files are those of the guest's "/", in
	// place of a host directory. What the guest changes in them stays in memory. ImageDir is its working directory,
	// unless Dir is in one of Binds.
	Image    *image.Image
	ImageDir string
	// User, if set, is who the guest is among the owners of the image's files. Without it, and among the host's files,
	// it is the user who runs cgemu.
	User *record.User
	// Overlay says that what the guest changes in files, those below Root if that is set, stays in memory and is gone
	// at the end. Not the standard ones.
	Overlay bool
	// Isolate is a directory, and asks for an Overlay of files that do not tell which machine they are on: it is found
	// at WorkDir, /tmp is empty, and all have one time.
	Isolate string
	// Binds are directories of the host that are seen at other places, too. What the guest changes there is changed on
	// the host.
	Binds []Bind
	// ReadOnly says that the guest changes no file of the host but the standard ones.
	ReadOnly bool
	// ShmDir is a directory of the host for the guest's /dev/shm, which is made there when it is first needed and
	// removed at the end: "" for one in the host's /dev/shm.
	ShmDir string
	// Stdin, Stdout and Stderr are its first three files: nil for ours.
	Stdin, Stdout, Stderr *os.File
	// Inherited are what else it has open, by descriptor.
	Inherited map[int]*os.File
	// HostStdio says that the guest sees them as they are on the host. Otherwise its output is a pipe, wherever it
	// goes, and so is an input that is a terminal: what the guest executes does not depend on that.
	HostStdio bool
	// HostEtc says that all files of /etc are the host's, but those that say who the machine is; they are in a root or
	// sysroot, in any case.
	HostEtc bool
	// Record, if set, gets what the guest takes from the host, but for what it reads of its terminal and a real clock,
	// which it must not have. It is the caller's to finish.
	Record *record.Recorder
	// Replay, if set, is where the guest's files, its working directory and its user come from, in place of all of the
	// host's that is named above, but for ShmDir and the standard files.
	Replay *record.Recording
	// PipedStdin says that the guest sees a pipe in its standard input, whatever that is.
	PipedStdin bool
	// OnOpen, if set, is called with the host's path of each regular file of the host that the guest opens.
	OnOpen func(path string)
	// Watch, if set, is called with the guest's name of each regular file that it opens for writing. What it returns,
	// unless that is nil, gets all that processes write to the open file, with the engine of the one that does; it must
	// not keep the bytes.
	Watch func(guest string) func(e emu.Engine, b []byte)
	// BeforeOutput, if set, is called before the program writes to a device, as terminals are.
	BeforeOutput func()
}

// rootDir is the host's directory that is the guest's "/", "" if the guest is to see the host's files as they are.
func (c *Config) rootDir() string {
	if c.hasOwnRoot() {
		return ""
	}
	if !c.rootMade() && c.ofNodes() {
		return cmp.Or(c.Root, "/")
	}
	return c.Root
}

// ofNodes reports whether the guest's root is a file system of package vfs, not a directory of the host.
func (c *Config) ofNodes() bool {
	return !host.Direct || c.rootMade() || c.Record != nil || c.Overlay || c.Isolate != "" || len(c.Binds) > 0
}

// rootMade reports whether the guest's "/" is none of the host's directories.
func (c *Config) rootMade() bool { return c.NewRoot != nil || c.Replay != nil || c.Image != nil }

// A System is what the kernel knows of files.
type System struct {
	// FlockTried is when the host was last given time to let a lock of flock(2) go that the guest waits for.
	FlockTried int64
	Config     Config
	Inodes     inodeTable
	Root       rootDir
	Private    privateDir
	// user is who runs cgemu, or did when the run was recorded: his files are the guest's own. isolated says that
	// nothing tells who it is.
	user     vfs.MemOptions
	isolated bool
	// guest is who the guest is if that does not follow from user.
	guest *record.User
	// standIns says that files of /etc are replaced whose content depends on what is installed on the host.
	standIns bool
	// loaderCaches are the guest's /etc/ld.so.cache, by program.
	loaderCaches map[string][]byte
	// contents is where contents of files are that have changed below an overlay.
	contents privateDir
	Epolls   []*EpollFile
	// epollWalks counts the walks through epoll instances.
	epollWalks uint64
	async      []*asyncFile // whose owners are told by signals
	// exclusive says whom files have woken of those that wait for them with EPOLLEXCLUSIVE.
	exclusive  map[File]exclusiveWake
	inotifies  []*InotifyFile
	lastCookie uint32                   // of inotify's renames
	locks      map[uint64][]*recordLock // by inode number
}

// SystemOf returns what k knows of files.
func SystemOf(k *task.Kernel) *System { return k.FS.(*System) }

// NewSystem makes the file system of a kernel whose clock is now.
func NewSystem(cfg Config, now func() host.Time) (*System, error) {
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
	if cfg.Isolate != "" {
		if cfg.Isolate, err = filepath.Abs(cfg.Isolate); err != nil {
			return nil, fmt.Errorf("syscalls: isolation: %w", err)
		}
	}
	fs := &System{Config: cfg, exclusive: map[File]exclusiveWake{}, locks: map[uint64][]*recordLock{}, loaderCaches: map[string][]byte{}}
	fs.standIns = !cfg.HostEtc && cfg.Root == "" && cfg.Sysroot == "" && cfg.NewRoot == nil && cfg.Image == nil
	if fs.isolated = cfg.Isolate != ""; !fs.isolated {
		fs.guest = cfg.User
	}
	fs.user.UID, fs.user.GID = host.User()
	fs.user.Groups, _ = os.Getgroups()
	fs.user.Privileged = fs.user.UID == 0
	fs.recordSystem()
	fs.Inodes.init()
	if err := fs.openRoot(now); err != nil {
		return nil, errors.Join(err, fs.Close())
	}
	return fs, nil
}

// Guest is who the guest is, nil if that is not said.
func (fs *System) Guest() *record.User { return fs.guest }

// Close gives up what fs holds of the host, and removes its private files.
func (fs *System) Close() error {
	if fs.Root.fs != nil {
		fs.Root.fs.Close()
	}
	if fs.Root.fd != host.NoFD {
		fs.Root.fd.Close()
	}
	return errors.Join(fs.Private.close(), fs.contents.close())
}
