package files

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/host"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// A File is an open file description. Methods get the position to work at, or
// -1 for the file's own. A call that must wait returns EAGAIN, whatever
// O_NONBLOCK says; Poll tells when it will not.
type File interface {
	Base() *FileBase
	// Name is the guest's name of it, as /proc/self/fd shows.
	Name(k *task.Kernel) string
	Read(t *task.Thread, v []uio.Iovec, off int64) (uint64, linux.Errno)
	Write(t *task.Thread, v []uio.Iovec, off int64) (uint64, linux.Errno)
	Seek(t *task.Thread, off int64, whence int) (int64, linux.Errno)
	Stat(t *task.Thread) (Stat, linux.Errno)
	// Poll returns the events that are there.
	Poll(t *task.Thread) uint32
	// Wakes is how often one of events was announced.
	Wakes(events uint32) uint64
	// Waits is what a transfer of n bytes that returned EAGAIN waits for: the zero value for poll's saying that one of
	// events is there.
	Waits(t *task.Thread, events uint32, n uint64) task.Wait
	// HostWaits appends to fds what to wait for on the host for events, if they depend on the host.
	HostWaits(fds []host.PollFD, events uint32) []host.PollFD
	// Traits are what is odd about files of this kind.
	Traits() Traits
	Ioctl(t *task.Thread, req uint32, arg emu.Addr) (uint64, linux.Errno)
	// Reopen opens the same file again, as open(2) of its /proc/PID/fd/N does.
	Reopen(t *task.Thread, flags int) (File, linux.Errno)
	// FDInfo is what /proc/PID/fdinfo/N has in addition for files of this kind.
	FDInfo() []byte
	// SetFlags sets the flags that F_SETFL changes.
	SetFlags(flags int) linux.Errno
	// Close is called when the last descriptor goes away.
	Close(k *task.Kernel)
}

// The Traits of a kind of file.
type Traits uint16

const (
	Unreadable    Traits = 1 << iota // read(2) is EINVAL before it looks at the memory
	Unwritable                       // write(2) is
	positioned                       // offsets are taken, though it cannot be sought (FMODE_PREAD)
	unpositioned                     // offsets are not taken, though it can be sought
	Unpollable                       // there is nothing to wait for, and epoll takes it not
	Streaming                        // it has no positions at all (FMODE_LSEEK)
	Uniform                          // it is a device that is the same at all positions
	WholeWrites                      // a write that has waited goes on until all is written
	NoSpliceRead                     // splice(2) and sendfile(2) take nothing from it, though it can be read
	NoSpliceWrite                    // nor put anything into it
	Piped                            // it is a pipe or a FIFO
)

// A waiter reads and writes by rules of its own when it has to wait, as sockets do, whose waits have timeouts.
type waiter interface {
	ReadWaiting(t *task.Thread, v []uio.Iovec) (uint64, linux.Errno)
	WriteWaiting(t *task.Thread, v []uio.Iovec) (uint64, linux.Errno)
}

// quiet puts something that never happens in the place of what was appended to fds from its length before on.
func quiet(fds []host.PollFD, before int) []host.PollFD {
	if len(fds) > before {
		fds = append(fds[:before], host.PollFD{On: host.NoFD})
	}
	return fds
}

// An Owned file has an inode that belongs to the guest's user, as pipes and sockets have.
type Owned interface {
	// SetMode is fchmod(2).
	SetMode(mode uint32)
}

// A referenced file is told when a reference to it was dropped that was not the last.
type referenced interface{ Dropped(k *task.Kernel) }

// A FileBase is what all open file descriptions have. It supplies the methods
// of file with what a file of no abilities does.
type FileBase struct {
	Flags int
	Refs  int
	// Path is the guest's name of it, "" if the host has to be asked.
	Path string
	Wakeups
	Owner fileOwner
	// Watches is how many epoll instances watch it, and for how many descriptors each.
	Watches int
}

// The Wakeups of a file are how often something came to read and room came to write, for EPOLLET, and who is told of it
// by a signal.
type Wakeups struct {
	Comings, goings uint64
	told            []*asyncFile
}

// Wake notes that something came to read (POLLIN), or room to write (POLLOUT), as Linux wakes those who wait for it,
// and tells who wants to be told by a signal.
func (n *Wakeups) Wake(events uint32) {
	n.Count(events)
	n.Announce(events)
}

// Count is Wake for what no signal tells of.
func (n *Wakeups) Count(events uint32) {
	if events&linux.POLLIN != 0 {
		n.Comings++
	}
	if events&linux.POLLOUT != 0 {
		n.goings++
	}
}

func (n *Wakeups) Wakes(events uint32) uint64 {
	var sum uint64
	if events&(linux.POLLIN|linux.POLLRDNORM|linux.POLLRDHUP) != 0 {
		sum += n.Comings
	}
	if events&(linux.POLLOUT|linux.POLLWRNORM) != 0 {
		sum += n.goings
	}
	return sum
}

func (b *FileBase) Base() *FileBase { return b }

func (b *FileBase) Name(*task.Kernel) string { return b.Path }

func (b *FileBase) Read(*task.Thread, []uio.Iovec, int64) (uint64, linux.Errno) {
	return 0, linux.EINVAL
}

func (b *FileBase) Write(*task.Thread, []uio.Iovec, int64) (uint64, linux.Errno) {
	return 0, linux.EINVAL
}

func (b *FileBase) Seek(*task.Thread, int64, int) (int64, linux.Errno) { return 0, linux.ESPIPE }

func (b *FileBase) Poll(*task.Thread) uint32 {
	return linux.POLLIN | linux.POLLOUT | linux.POLLRDNORM | linux.POLLWRNORM
}

func (b *FileBase) Ioctl(*task.Thread, uint32, emu.Addr) (uint64, linux.Errno) {
	return 0, linux.ENOTTY
}

func (b *FileBase) Reopen(*task.Thread, int) (File, linux.Errno) { return nil, linux.ENXIO }

func (b *FileBase) FDInfo() []byte { return nil }

func (b *FileBase) SetFlags(flags int) linux.Errno { b.Flags = flags; return 0 }

func (b *FileBase) Close(*task.Kernel) {}

func (b *FileBase) Waits(*task.Thread, uint32, uint64) task.Wait { return task.Wait{} }

func (b *FileBase) HostWaits(fds []host.PollFD, _ uint32) []host.PollFD { return fds }

func (b *FileBase) Traits() Traits { return 0 }

func (b *FileBase) Stat(t *task.Thread) (Stat, linux.Errno) {
	// An anonymous inode, which is the superuser's.
	return Stat{Dev: anonDev, Ino: SystemOf(t.Kernel).Inodes.anonymous, Mode: 0o600, Nlink: 1}, 0
}

// Readable reports whether it is open for reading. A file opened with O_ACCMODE itself, for ioctl(2) alone, can be
// neither read nor written.
func (b *FileBase) Readable() bool {
	mode := b.Flags & (linux.O_ACCMODE | linux.O_PATH)
	return mode == linux.O_RDONLY || mode == linux.O_RDWR
}

// Writable reports whether it is open for writing.
func (b *FileBase) Writable() bool {
	mode := b.Flags & (linux.O_ACCMODE | linux.O_PATH)
	return mode == linux.O_WRONLY || mode == linux.O_RDWR
}

// Nonblock reports whether O_NONBLOCK is set.
func (b *FileBase) Nonblock() bool { return b.Flags&linux.O_NONBLOCK != 0 }

// Positions reports whether f can be read and written at offsets (FMODE_PREAD, FMODE_PWRITE).
func Positions(t *task.Thread, f File) bool {
	switch is := f.Traits(); {
	case is&unpositioned != 0:
		return false
	case is&positioned != 0:
		return true
	}
	_, e := f.Seek(t, 0, linux.SEEK_CUR)
	return e != linux.ESPIPE
}
