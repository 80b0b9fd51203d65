package syscalls

import (
	"slices"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// A threadFiles is what a thread has of files.
type threadFiles struct {
	fds *fdTable
	*fsInfo
	// noMagic says that a path is looked up that may not lead over links of /proc to files (RESOLVE_NO_MAGICLINKS).
	noMagic bool
	call    callFiles
}

// A callFiles is what the system call that a thread is in has of files until it is over.
type callFiles struct {
	// held are the open files that it works with, whatever becomes of their descriptors while it waits.
	held []file
	// reserved is the descriptor that it will give to a file.
	reserved reservation
	// dirs are open while paths are looked up.
	dirs []fileRef
	// fifo is what open(2) has of a FIFO while it waits for the other end.
	fifo *hostFile
}

func newThreadFiles() *threadFiles { return &threadFiles{fds: newFDTable(), fsInfo: newFSInfo()} }

// filesOf returns what t has of files.
func filesOf(t *Thread) *threadFiles { return t.files.(*threadFiles) }

// share: a thread shares the table with CLONE_FILES, working directory and umask with CLONE_FS, and has copies otherwise.
func (tf *threadFiles) share(flags uint64) fileState {
	o := &threadFiles{fds: tf.fds, fsInfo: tf.fsInfo}
	tf.fds.users++
	tf.fsInfo.users++
	if flags&linux.CLONE_FILES == 0 {
		o.fds = o.fds.own()
	}
	if flags&linux.CLONE_FS == 0 {
		o.fsInfo = o.fsInfo.own()
	}
	return o
}

// exec: descriptors are shared with nobody after execve(2).
func (tf *threadFiles) exec(k *Kernel) {
	tf.fds = tf.fds.own()
	tf.fds.closeOnExec(k)
}

func (tf *threadFiles) leave(k *Kernel) {
	tf.fds.leave(k)
	if tf.fsInfo.users--; tf.fsInfo.users == 0 {
		tf.leaveCwd()
	}
	tf.fds, tf.fsInfo = newFDTable(), newFSInfo()
}

func (tf *threadFiles) endCall(k *Kernel) {
	c := &tf.call
	for _, r := range c.dirs {
		r.close()
	}
	if h := c.takeFIFO(); h != nil {
		h.fileRef.close()
	}
	c.reserved.release()
	held := c.held
	c.dirs, c.held = nil, nil
	for _, f := range held {
		release(k, f)
	}
}

// keep closes r when the call is over.
func (tf *threadFiles) keep(r fileRef) { tf.call.dirs = append(tf.call.dirs, r) }

// hold keeps files open until the call is over.
func (c *callFiles) hold(files ...file) {
	for _, f := range files {
		if !slices.Contains(c.held, f) {
			f.base().refs++
			c.held = append(c.held, f)
		}
	}
}

// takeFIFO returns the FIFO that the call has waited with, or nil.
func (c *callFiles) takeFIFO() *hostFile {
	h := c.fifo
	c.fifo = nil
	return h
}

// An fsInfo is how threads name and make files. Those of a process mostly share it, and its children may (CLONE_FS).
type fsInfo struct {
	cwd   dirRef
	umask uint32
	users int // threads
	// held counts those that have cwd's descriptor, nil if it has none.
	held *int
}

func newFSInfo() *fsInfo {
	return &fsInfo{cwd: dirRef{fileRef: noFile, path: "/", virtual: true}, umask: defaultUmask, users: 1}
}

// copy returns the same for another thread.
func (f *fsInfo) copy() *fsInfo {
	if f.held != nil {
		*f.held++
	}
	return &fsInfo{cwd: f.cwd, umask: f.umask, users: 1, held: f.held}
}

// setCwd makes d, whose descriptor is f's from now on, the working directory.
func (f *fsInfo) setCwd(d dirRef) {
	f.leaveCwd()
	if f.cwd = d; !d.none() {
		f.held = new(int)
		*f.held = 1
	}
}

// leaveCwd lets go of the working directory.
func (f *fsInfo) leaveCwd() {
	if f.held == nil {
		return
	}
	if *f.held--; *f.held == 0 {
		f.cwd.close()
	}
	f.held = nil
}

// own returns what one thread alone has.
func (f *fsInfo) own() *fsInfo {
	if f.users == 1 {
		return f
	}
	f.users--
	return f.copy()
}

// copy returns a table of the same open files.
func (ft *fdTable) copy() *fdTable {
	n := newFDTable()
	for fd, ent := range ft.fds {
		if ent.file != nil {
			n.set(fd, ent.file, ent.cloexec)
		}
	}
	return n
}

// own returns a table that one thread alone has.
func (ft *fdTable) own() *fdTable {
	if ft.users == 1 {
		return ft
	}
	ft.users--
	return ft.copy()
}

// leave drops a thread's share of the table, and closes it with the last.
func (ft *fdTable) leave(k *Kernel) {
	if ft.users--; ft.users == 0 {
		ft.closeAll(k)
	}
}
