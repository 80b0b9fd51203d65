package files

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/host"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// inotifyMax is how many events are kept (fs.inotify.max_queued_events).
const inotifyMax = 16384

// An InotifyFile is an inotify instance. It is told of what the guest does; what others do to the host's
// files is not seen, since when it is seen would differ from run to run.
type InotifyFile struct {
	FileBase
	Watches []*InotifyWatch
	lastWD  int
	queue   []inotifyEvent
}

// An InotifyWatch is a file that is watched.
type InotifyWatch struct {
	Wd   int
	Ino  uint64
	Mask uint32
}

type inotifyEvent struct {
	wd           int
	mask, cookie uint32
	name         string
}

// InotifyInit is inotify_init1(2).
func InotifyInit(t *task.Thread, flags int) (uint64, linux.Errno) {
	if flags&^(linux.O_CLOEXEC|linux.O_NONBLOCK) != 0 {
		return 0, linux.EINVAL
	}
	f := &InotifyFile{FileBase: FileBase{Flags: linux.O_RDONLY | flags&linux.O_NONBLOCK, Path: "anon_inode:inotify"}}
	SystemOf(t.Kernel).inotifies = append(SystemOf(t.Kernel).inotifies, f)
	return Install(t, f, flags)
}

func (f *InotifyFile) Close(k *task.Kernel) {
	SystemOf(k).inotifies = slices.DeleteFunc(SystemOf(k).inotifies, func(o *InotifyFile) bool { return o == f })
}

// Watch watches ino for mask, or changes what it is watched for.
func (f *InotifyFile) Watch(ino uint64, mask uint32) (uint64, linux.Errno) {
	keep := mask & (linux.IN_ALL_EVENTS | linux.IN_ONESHOT | linux.IN_EXCL_UNLINK)
	for _, w := range f.Watches {
		if w.Ino != ino {
			continue
		}
		switch {
		case mask&linux.IN_MASK_CREATE != 0:
			return 0, linux.EEXIST
		case mask&linux.IN_MASK_ADD != 0:
			w.Mask |= keep
		default:
			w.Mask = keep
		}
		return uint64(w.Wd), 0
	}
	f.lastWD++
	f.Watches = append(f.Watches, &InotifyWatch{f.lastWD, ino, keep})
	return uint64(f.lastWD), 0
}

// Drop ends a watch.
func (f *InotifyFile) Drop(w *InotifyWatch) {
	f.Watches = slices.DeleteFunc(f.Watches, func(o *InotifyWatch) bool { return o == w })
	f.add(inotifyEvent{wd: w.Wd, mask: linux.IN_IGNORED})
}

// Announcer says that O_ASYNC is known.
func (f *InotifyFile) Announcer() *Wakeups { return &f.Wakeups }

// add queues an event, unless it is the last one again.
func (f *InotifyFile) add(ev inotifyEvent) {
	n := len(f.queue)
	switch {
	case n > 0 && f.queue[n-1] == ev:
		return
	case n >= inotifyMax:
		ev = inotifyEvent{wd: -1, mask: linux.IN_Q_OVERFLOW}
		if f.queue[n-1] == ev {
			return
		}
	}
	f.queue = append(f.queue, ev)
	f.Wake(linux.POLLIN)
}

func (e inotifyEvent) encode() []byte {
	size := 0
	if e.name != "" {
		size = (len(e.name) + 16) &^ 15
	}
	var b linux.Pack
	b.U32(uint32(e.wd))
	b.U32(e.mask)
	b.U32(e.cookie)
	b.U32(uint32(size))
	b.Str(e.name, size)
	return b
}

func (*InotifyFile) Traits() Traits { return unpositioned }

func (f *InotifyFile) FDInfo() (b []byte) {
	for _, w := range f.Watches {
		b = fmt.Appendf(b, "inotify wd:%x ino:%x sdev:fe00000 mask:%x ignored_mask:0\n", w.Wd, w.Ino, w.Mask)
	}
	return b
}

func (f *InotifyFile) Read(t *task.Thread, v []uio.Iovec, _ int64) (uint64, linux.Errno) {
	if len(f.queue) == 0 {
		return 0, linux.EAGAIN
	}
	var b []byte
	n := 0
	for _, ev := range f.queue {
		x := ev.encode()
		if uint64(len(b)+len(x)) > uio.Total(v) {
			break
		}
		b = append(b, x...)
		n++
	}
	if n == 0 {
		return 0, linux.EINVAL
	}
	if got, e := t.Scatter(v, b); e != 0 || got < len(b) {
		return 0, linux.EFAULT
	}
	f.queue = slices.Delete(f.queue, 0, n)
	return uint64(len(b)), 0
}

func (f *InotifyFile) Poll(*task.Thread) uint32 {
	if len(f.queue) > 0 {
		return linux.POLLIN | linux.POLLRDNORM
	}
	return 0
}

func (f *InotifyFile) Seek(*task.Thread, int64, int) (int64, linux.Errno) { return 0, 0 }

func (f *InotifyFile) Ioctl(t *task.Thread, req uint32, arg emu.Addr) (uint64, linux.Errno) {
	if req != linux.FIONREAD {
		return 0, linux.ENOTTY
	}
	n := 0
	for _, ev := range f.queue {
		n += len(ev.encode())
	}
	return 0, t.Out32(arg, uint32(n))
}

// notify tells those who watch ino. name is that of a file in it, gone that it has no name any more.
func notify(k *task.Kernel, ino uint64, ev inotifyEvent, gone bool) {
	for _, f := range SystemOf(k).inotifies {
		for _, w := range slices.Clone(f.Watches) {
			if w.Ino != ino || w.Mask&ev.mask == 0 || gone && w.Mask&linux.IN_EXCL_UNLINK != 0 {
				continue
			}
			ev.wd = w.Wd
			f.add(ev)
			if w.Mask&linux.IN_ONESHOT != 0 || ev.mask&linux.IN_DELETE_SELF != 0 {
				f.Drop(w)
			}
		}
		if ev.mask&linux.IN_DELETE_SELF != 0 {
			for _, w := range slices.Clone(f.Watches) {
				if w.Ino == ino {
					f.Drop(w)
				}
			}
		}
	}
}

// FileEvent tells who watches f, or the directory that it is in, and notes the time if it was changed.
func FileEvent(k *task.Kernel, f *HostFile, mask uint32) {
	switch mask {
	case linux.IN_MODIFY:
		written(k, f.Ino)
		if f.Node != nil && k.Clock.Real {
			setNodeTimes(f.Node, host.Time{}, TimeAt(k.Wall())) // the guest's content is written past the node
		}
	case linux.IN_ATTRIB:
		ChangedInode(k, f.Ino)
	}
	if len(SystemOf(k).inotifies) == 0 {
		return
	}
	if f.IsDir() {
		mask |= linux.IN_ISDIR
	}
	ev := inotifyEvent{mask: mask}
	if name, up, gone, ok := f.named(); ok {
		in := ev
		in.name = name
		notify(k, SystemOf(k).Inodes.Number(up.Dev, up.Ino), in, gone)
	}
	notify(k, f.Ino, ev, false)
}

// NameEvent tells who watches the directory that l is in, which was changed.
func NameEvent(k *task.Kernel, l Location, mask, cookie uint32) {
	if up, e := l.Parent().Stat(true); e == 0 {
		name := path.Base(strings.TrimSuffix(l.Path, "/"))
		ino := SystemOf(k).Inodes.Number(up.Dev, up.Ino)
		Touch(k, ino)
		notify(k, ino, inotifyEvent{mask: mask, cookie: cookie, name: name}, false)
	}
}

// SelfEvent tells who watches the file that st describes.
func SelfEvent(k *task.Kernel, st host.Stat, mask uint32) {
	if len(SystemOf(k).inotifies) > 0 {
		notify(k, SystemOf(k).Inodes.Number(st.Dev, st.Ino), inotifyEvent{mask: mask | st.IsDir()}, false)
	}
}

// Made is called after l was made.
func Made(k *task.Kernel, l Location, e linux.Errno) (uint64, linux.Errno) {
	if e == 0 {
		st, e := l.Stat(false)
		if e == 0 {
			noteCreated(k, SystemOf(k).Inodes.Number(st.Dev, st.Ino))
		}
		NameEvent(k, l, linux.IN_CREATE|st.IsDir(), 0)
	}
	return 0, e
}

// Removed is called after a name of the file that st describes went: with the last one, and if nobody
// has it open, the file does.
func Removed(k *task.Kernel, st host.Stat) {
	if st.Nlink > 1 && st.IsDir() == 0 {
		ChangedInode(k, SystemOf(k).Inodes.Number(st.Dev, st.Ino))
	}
	if len(SystemOf(k).inotifies) == 0 {
		return
	}
	dir := st.IsDir() != 0
	if !dir {
		SelfEvent(k, st, linux.IN_ATTRIB)
	}
	if (st.Nlink <= 1 || dir) && !SystemOf(k).Inodes.isOpen(SystemOf(k).Inodes.Number(st.Dev, st.Ino)) {
		st.Mode = 0
		SelfEvent(k, st, linux.IN_DELETE_SELF)
	}
}

// Moved is called after src, which was described by was, became dst, and took the place of old if replaced is set.
func Moved(k *task.Kernel, src, dst Location, was, old host.Stat, replaced bool) {
	if replaced && was.Ino == old.Ino && was.Dev == old.Dev {
		return
	}
	ChangedInode(k, SystemOf(k).Inodes.Number(was.Dev, was.Ino))
	SystemOf(k).lastCookie++
	NameEvent(k, src, linux.IN_MOVED_FROM|was.IsDir(), SystemOf(k).lastCookie)
	NameEvent(k, dst, linux.IN_MOVED_TO|was.IsDir(), SystemOf(k).lastCookie)
	if len(SystemOf(k).inotifies) == 0 {
		return
	}
	if replaced && old.IsDir() == 0 {
		SelfEvent(k, old, linux.IN_ATTRIB)
	}
	SelfEvent(k, host.Stat{Dev: was.Dev, Ino: was.Ino}, linux.IN_MOVE_SELF)
	if replaced && (old.Nlink <= 1 || old.IsDir() != 0) && !SystemOf(k).Inodes.isOpen(SystemOf(k).Inodes.Number(old.Dev, old.Ino)) {
		old.Mode = 0
		SelfEvent(k, old, linux.IN_DELETE_SELF)
	}
}

// Opened is called after h was opened at l, which was described by was if it was not created.
func Opened(t *task.Thread, l Location, h *HostFile, flags int, was host.Stat, created bool) {
	if flags&linux.O_PATH != 0 {
		return
	}
	truncated := !created && flags&linux.O_TRUNC != 0 && h.IsRegular()
	switch {
	case created, flags&linux.O_TMPFILE == linux.O_TMPFILE:
		noteCreated(t.Kernel, h.Ino)
	case h.Writable() && h.IsRegular():
		keepAccess(t.Kernel, h, was)
	}
	if watch := SystemOf(t.Kernel).Config.Watch; watch != nil && h.Writable() && h.IsRegular() {
		h.watch = watch(l.Guest)
	}
	if truncated {
		Cut(t.Kernel, h.Ino, 0)
		Touch(t.Kernel, h.Ino)
	}
	if created {
		NameEvent(t.Kernel, l, linux.IN_CREATE, 0)
	}
	FileEvent(t.Kernel, h, linux.IN_OPEN)
	if truncated {
		FileEvent(t.Kernel, h, linux.IN_MODIFY)
	}
}

// closed is called when f's last descriptor is gone, before the host closes it.
func closed(k *task.Kernel, f *HostFile) {
	if len(SystemOf(k).inotifies) == 0 || f.Flags&linux.O_PATH != 0 {
		return
	}
	mask := uint32(linux.IN_CLOSE_NOWRITE)
	if f.Writable() {
		mask = linux.IN_CLOSE_WRITE
	}
	FileEvent(k, f, mask)
	if st, e := f.FileRef.Stat(); e == 0 && st.Nlink == 0 && !SystemOf(k).Inodes.isOpen(f.Ino) {
		notify(k, f.Ino, inotifyEvent{mask: linux.IN_DELETE_SELF}, false)
	}
}
