package files

import (
	"slices"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
)

// A Files is what a thread has of files.
type Files struct {
	FDs *FDTable
	*FSInfo
	Call callFiles
}

// A callFiles is what the system call that a thread is in has of files until it is over.
type callFiles struct {
	// Held are the open files that it works with, whatever becomes of their descriptors while it waits.
	Held []File
	// reserved is the descriptor that it will give to a file.
	reserved reservation
	// dirs are open while paths are looked up.
	dirs []FileRef
	// AtLimit says that it met a limit of the guest's own: RLIMIT_NOFILE, RLIMIT_MSGQUEUE.
	AtLimit bool
	// fifo is what open(2) has of a FIFO while it waits for the other end.
	fifo *HostFile
}

// New returns what the first thread of all has: no descriptors, and "/" to begin in.
func New() *Files { return &Files{FDs: NewFDTable(), FSInfo: newFSInfo()} }

// Of returns what t has of files.
func Of(t *task.Thread) *Files { return t.Files.(*Files) }

// Share: a thread shares the table with CLONE_FILES, working directory and umask with CLONE_FS, and has copies
// otherwise.
func (tf *Files) Share(flags uint64) task.FileState {
	o := &Files{FDs: tf.FDs, FSInfo: tf.FSInfo}
	tf.FDs.users++
	tf.FSInfo.users++
	if flags&linux.CLONE_FILES == 0 {
		o.FDs = o.FDs.Unshared()
	}
	if flags&linux.CLONE_FS == 0 {
		o.FSInfo = o.FSInfo.Unshared()
	}
	return o
}

// Exec: descriptors are shared with nobody after execve(2).
func (tf *Files) Exec(k *task.Kernel) {
	tf.FDs = tf.FDs.Unshared()
	tf.FDs.closeOnExec(k)
}

// Leave gives back the table and the working directory; the thread has ended.
func (tf *Files) Leave(k *task.Kernel) {
	tf.FDs.leave(k)
	if tf.FSInfo.users--; tf.FSInfo.users == 0 {
		tf.LeaveCwd()
	}
	tf.FDs, tf.FSInfo = NewFDTable(), newFSInfo()
}

// EndCall drops what the thread's call had open: directories of its path, files that it held, a descriptor that it did
// not use.
func (tf *Files) EndCall(k *task.Kernel) {
	c := &tf.Call
	for _, r := range c.dirs {
		r.Close()
	}
	if h := c.takeFIFO(); h != nil {
		h.FileRef.Close()
	}
	c.reserved.release()
	held := c.Held
	c.dirs, c.Held, c.AtLimit = nil, nil, false
	for _, f := range held {
		Release(k, f)
	}
}

// AtLimit reports whether the thread's call met a limit of the guest's own.
func (tf *Files) AtLimit() bool { return tf.Call.AtLimit }

// keep closes r when the call is over.
func (tf *Files) keep(r FileRef) { tf.Call.dirs = append(tf.Call.dirs, r) }

// Hold keeps files open until the call is over.
func (c *callFiles) Hold(files ...File) {
	for _, f := range files {
		if !slices.Contains(c.Held, f) {
			f.Base().Refs++
			c.Held = append(c.Held, f)
		}
	}
}

// takeFIFO returns the FIFO that the call has waited with, or nil.
func (c *callFiles) takeFIFO() *HostFile {
	h := c.fifo
	c.fifo = nil
	return h
}

// An FSInfo is how threads name and make files. Those of a process mostly share it, and its children may (CLONE_FS).
type FSInfo struct {
	Cwd   DirRef
	Umask uint32
	users int // threads
	// held counts those that have cwd's descriptor, nil if it has none.
	held *int
}

func newFSInfo() *FSInfo {
	return &FSInfo{Cwd: DirRef{FileRef: NoFile, path: "/", Virtual: true}, Umask: task.DefaultUmask, users: 1}
}

// Copy returns the same for another thread.
func (f *FSInfo) Copy() *FSInfo {
	if f.held != nil {
		*f.held++
	}
	return &FSInfo{Cwd: f.Cwd, Umask: f.Umask, users: 1, held: f.held}
}

// SetCwd makes d, whose descriptor is f's from now on, the working directory.
func (f *FSInfo) SetCwd(d DirRef) {
	f.LeaveCwd()
	if f.Cwd = d; !d.None() {
		f.held = new(int)
		*f.held = 1
	}
}

// LeaveCwd lets go of the working directory.
func (f *FSInfo) LeaveCwd() {
	if f.held == nil {
		return
	}
	if *f.held--; *f.held == 0 {
		f.Cwd.Close()
	}
	f.held = nil
}

// Unshared returns what one thread alone has.
func (f *FSInfo) Unshared() *FSInfo {
	if f.users == 1 {
		return f
	}
	f.users--
	return f.Copy()
}
