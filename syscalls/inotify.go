package syscalls

import (
	"path"
	"slices"
	"strings"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// inotifyMax is how many events are kept (fs.inotify.max_queued_events).
const inotifyMax = 16384

// An inotifyFile is an inotify instance. It is told of what the guest does; what others do to the host's
// files is not seen, since when it is seen would differ from run to run.
type inotifyFile struct {
	fileBase
	watches []*inotifyWatch
	lastWD  int
	queue   []inotifyEvent
}

// An inotifyWatch is a file that is watched.
type inotifyWatch struct {
	wd   int
	ino  uint64
	mask uint32
}

type inotifyEvent struct {
	wd           int
	mask, cookie uint32
	name         string
}

// sysInotifyInit implements inotify_init(2).
func sysInotifyInit(t *Thread, _ Args) (uint64, linux.Errno) { return t.inotifyInit(0) }

// sysInotifyInit1 implements inotify_init1(2).
func sysInotifyInit1(t *Thread, a Args) (uint64, linux.Errno) { return t.inotifyInit(a.Int(0)) }

func (t *Thread) inotifyInit(flags int) (uint64, linux.Errno) {
	if flags&^(linux.O_CLOEXEC|linux.O_NONBLOCK) != 0 {
		return 0, linux.EINVAL
	}
	f := &inotifyFile{fileBase: fileBase{flags: linux.O_RDONLY | flags&linux.O_NONBLOCK, path: "anon_inode:inotify"}}
	fsOf(t.k).inotifies = append(fsOf(t.k).inotifies, f)
	return t.install(f, flags)
}

func (f *inotifyFile) close(k *Kernel) {
	fsOf(k).inotifies = slices.DeleteFunc(fsOf(k).inotifies, func(o *inotifyFile) bool { return o == f })
}

func (t *Thread) inotifyFile(fd int) (*inotifyFile, linux.Errno) {
	f, e := t.openFile(fd)
	if e != 0 {
		return nil, e
	}
	if in, ok := f.(*inotifyFile); ok {
		return in, 0
	}
	return nil, linux.EINVAL
}

// sysInotifyAddWatch implements inotify_add_watch(2).
func sysInotifyAddWatch(t *Thread, a Args) (uint64, linux.Errno) {
	const flags = linux.IN_ONLYDIR | linux.IN_DONT_FOLLOW | linux.IN_EXCL_UNLINK | linux.IN_MASK_CREATE | linux.IN_MASK_ADD | linux.IN_ISDIR | linux.IN_ONESHOT
	mask := a.U32(2)
	const all = linux.IN_ALL_EVENTS | linux.IN_Q_OVERFLOW | linux.IN_IGNORED | 0x2000 | flags
	if mask&all == 0 || mask&^all != 0 {
		return 0, linux.EINVAL
	}
	if _, e := t.openFile(a.Int(0)); e != 0 {
		return 0, e
	}
	if mask&linux.IN_MASK_ADD != 0 && mask&linux.IN_MASK_CREATE != 0 {
		return 0, linux.EINVAL
	}
	f, e := t.inotifyFile(a.Int(0))
	if e != 0 {
		return 0, e
	}
	s, e := t.path(a.Addr(1))
	if e != 0 {
		return 0, e
	}
	follow := mask&linux.IN_DONT_FOLLOW == 0
	l, e := t.locate(linux.AT_FDCWD, s, follow)
	if e != 0 {
		return 0, e
	}
	st, e := t.statOf(l, follow)
	switch {
	case e != 0:
		return 0, e
	case mask&linux.IN_ONLYDIR != 0 && st.mode&linux.S_IFMT != linux.S_IFDIR:
		return 0, linux.ENOTDIR
	}
	if l.node == nil {
		if e := l.access(4, follow); e != 0 {
			return 0, e
		}
	}
	return f.watch(st.ino, mask)
}

// watch watches ino for mask, or changes what it is watched for.
func (f *inotifyFile) watch(ino uint64, mask uint32) (uint64, linux.Errno) {
	keep := mask & (linux.IN_ALL_EVENTS | linux.IN_ONESHOT | linux.IN_EXCL_UNLINK)
	for _, w := range f.watches {
		if w.ino != ino {
			continue
		}
		switch {
		case mask&linux.IN_MASK_CREATE != 0:
			return 0, linux.EEXIST
		case mask&linux.IN_MASK_ADD != 0:
			w.mask |= keep
		default:
			w.mask = keep
		}
		return uint64(w.wd), 0
	}
	f.lastWD++
	f.watches = append(f.watches, &inotifyWatch{f.lastWD, ino, keep})
	return uint64(f.lastWD), 0
}

// sysInotifyRmWatch implements inotify_rm_watch(2).
func sysInotifyRmWatch(t *Thread, a Args) (uint64, linux.Errno) {
	f, e := t.inotifyFile(a.Int(0))
	if e != 0 {
		return 0, e
	}
	i := slices.IndexFunc(f.watches, func(w *inotifyWatch) bool { return w.wd == a.Int(1) })
	if i < 0 {
		return 0, linux.EINVAL
	}
	f.drop(f.watches[i])
	return 0, 0
}

// drop ends a watch.
func (f *inotifyFile) drop(w *inotifyWatch) {
	f.watches = slices.DeleteFunc(f.watches, func(o *inotifyWatch) bool { return o == w })
	f.add(inotifyEvent{wd: w.wd, mask: linux.IN_IGNORED})
}

func (f *inotifyFile) announcer() *wakeups { return &f.wakeups }

// add queues an event, unless it is the last one again.
func (f *inotifyFile) add(ev inotifyEvent) {
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
	f.wake(linux.POLLIN)
}

func (e inotifyEvent) encode() []byte {
	size := 0
	if e.name != "" {
		size = (len(e.name) + 16) &^ 15
	}
	var b pack
	b.u32(uint32(e.wd))
	b.u32(e.mask)
	b.u32(e.cookie)
	b.u32(uint32(size))
	b.str(e.name, size)
	return b
}

func (*inotifyFile) traits() traits { return unpositioned }

func (f *inotifyFile) read(t *Thread, v []iovec, _ int64) (uint64, linux.Errno) {
	if len(f.queue) == 0 {
		return 0, linux.EAGAIN
	}
	var b []byte
	n := 0
	for _, ev := range f.queue {
		x := ev.encode()
		if uint64(len(b)+len(x)) > total(v) {
			break
		}
		b = append(b, x...)
		n++
	}
	if n == 0 {
		return 0, linux.EINVAL
	}
	if got, e := t.scatter(v, b); e != 0 || got < len(b) {
		return 0, linux.EFAULT
	}
	f.queue = slices.Delete(f.queue, 0, n)
	return uint64(len(b)), 0
}

func (f *inotifyFile) poll(*Thread) uint32 {
	if len(f.queue) > 0 {
		return linux.POLLIN | linux.POLLRDNORM
	}
	return 0
}

func (f *inotifyFile) seek(*Thread, int64, int) (int64, linux.Errno) { return 0, 0 }

func (f *inotifyFile) ioctl(t *Thread, req uint32, arg emu.Addr) (uint64, linux.Errno) {
	if req != linux.FIONREAD {
		return 0, linux.ENOTTY
	}
	n := 0
	for _, ev := range f.queue {
		n += len(ev.encode())
	}
	return 0, t.out32(arg, uint32(n))
}

// notify tells those who watch ino. name is that of a file in it, gone that it has no name any more.
func (k *Kernel) notify(ino uint64, ev inotifyEvent, gone bool) {
	for _, f := range fsOf(k).inotifies {
		for _, w := range slices.Clone(f.watches) {
			if w.ino != ino || w.mask&ev.mask == 0 || gone && w.mask&linux.IN_EXCL_UNLINK != 0 {
				continue
			}
			ev.wd = w.wd
			f.add(ev)
			if w.mask&linux.IN_ONESHOT != 0 || ev.mask&linux.IN_DELETE_SELF != 0 {
				f.drop(w)
			}
		}
		if ev.mask&linux.IN_DELETE_SELF != 0 {
			for _, w := range slices.Clone(f.watches) {
				if w.ino == ino {
					f.drop(w)
				}
			}
		}
	}
}

// isDir is the flag of events about st.
func (st hostStat) isDir() uint32 {
	if st.mode&linux.S_IFMT == linux.S_IFDIR {
		return linux.IN_ISDIR
	}
	return 0
}

// fileEvent tells who watches f, or the directory that it is in, and notes the time if it was changed.
func (k *Kernel) fileEvent(f *hostFile, mask uint32) {
	switch mask {
	case linux.IN_MODIFY:
		k.written(f.ino)
		if f.node != nil && k.clock.real {
			setNodeTimes(f.node, fileTime{}, timeAt(k.wall())) // the guest's content is written past the node
		}
	case linux.IN_ATTRIB:
		k.changedInode(f.ino)
	}
	if len(fsOf(k).inotifies) == 0 {
		return
	}
	if f.isDir() {
		mask |= linux.IN_ISDIR
	}
	ev := inotifyEvent{mask: mask}
	if name, up, gone, ok := f.named(); ok {
		in := ev
		in.name = name
		k.notify(fsOf(k).inodes.number(up.dev, up.ino), in, gone)
	}
	k.notify(f.ino, ev, false)
}

// event is fileEvent for a path.
func (k *Kernel) event(l location, follow bool, mask uint32) {
	flags := linux.O_PATH
	if !follow {
		flags |= linux.O_NOFOLLOW
	}
	r, e := l.open(flags, 0, 0)
	if e != 0 {
		return
	}
	defer r.close()
	if st, e := r.stat(); e == 0 {
		k.fileEvent(&hostFile{fileRef: r, mode: st.mode, ino: fsOf(k).inodes.number(st.dev, st.ino)}, mask)
	}
}

// nameEvent tells who watches the directory that l is in, which was changed.
func (k *Kernel) nameEvent(l location, mask, cookie uint32) {
	if up, e := l.parent().stat(true); e == 0 {
		name := path.Base(strings.TrimSuffix(l.path, "/"))
		ino := fsOf(k).inodes.number(up.dev, up.ino)
		k.touch(ino)
		k.notify(ino, inotifyEvent{mask: mask, cookie: cookie, name: name}, false)
	}
}

// selfEvent tells who watches the file that st describes.
func (k *Kernel) selfEvent(st hostStat, mask uint32) {
	if len(fsOf(k).inotifies) > 0 {
		k.notify(fsOf(k).inodes.number(st.dev, st.ino), inotifyEvent{mask: mask | st.isDir()}, false)
	}
}

// made is called after l was made.
func (k *Kernel) made(l location, e linux.Errno) (uint64, linux.Errno) {
	if e == 0 {
		st, e := l.stat(false)
		if e == 0 {
			k.created(fsOf(k).inodes.number(st.dev, st.ino))
		}
		k.nameEvent(l, linux.IN_CREATE|st.isDir(), 0)
	}
	return 0, e
}

// removed is called after a name of the file that st describes went: with the last one, and if nobody
// has it open, the file does.
func (k *Kernel) removed(st hostStat) {
	if st.nlink > 1 && st.isDir() == 0 {
		k.changedInode(fsOf(k).inodes.number(st.dev, st.ino))
	}
	if len(fsOf(k).inotifies) == 0 {
		return
	}
	dir := st.isDir() != 0
	if !dir {
		k.selfEvent(st, linux.IN_ATTRIB)
	}
	if (st.nlink <= 1 || dir) && !k.isOpen(fsOf(k).inodes.number(st.dev, st.ino)) {
		st.mode = 0
		k.selfEvent(st, linux.IN_DELETE_SELF)
	}
}

// isOpen reports whether a process has file ino open.
func (k *Kernel) isOpen(ino uint64) bool {
	for ft := range k.fdTables() {
		if slices.ContainsFunc(ft.fds, func(ent fdEntry) bool {
			h, ok := ent.file.(*hostFile)
			return ok && h.ino == ino
		}) {
			return true
		}
	}
	return false
}

// moved is called after src, which was described by was, became dst, and took the place of old if replaced is set.
func (k *Kernel) moved(src, dst location, was, old hostStat, replaced bool) {
	if replaced && was.ino == old.ino && was.dev == old.dev {
		return
	}
	k.changedInode(fsOf(k).inodes.number(was.dev, was.ino))
	fsOf(k).lastCookie++
	k.nameEvent(src, linux.IN_MOVED_FROM|was.isDir(), fsOf(k).lastCookie)
	k.nameEvent(dst, linux.IN_MOVED_TO|was.isDir(), fsOf(k).lastCookie)
	if len(fsOf(k).inotifies) == 0 {
		return
	}
	if replaced && old.isDir() == 0 {
		k.selfEvent(old, linux.IN_ATTRIB)
	}
	k.selfEvent(hostStat{dev: was.dev, ino: was.ino}, linux.IN_MOVE_SELF)
	if replaced && (old.nlink <= 1 || old.isDir() != 0) && !k.isOpen(fsOf(k).inodes.number(old.dev, old.ino)) {
		old.mode = 0
		k.selfEvent(old, linux.IN_DELETE_SELF)
	}
}

// opened is called after h was opened at l, which was described by was if it was not created.
func (t *Thread) opened(l location, h *hostFile, flags int, was hostStat, created bool) {
	if flags&linux.O_PATH != 0 {
		return
	}
	truncated := !created && flags&linux.O_TRUNC != 0 && h.isRegular()
	switch {
	case created, flags&linux.O_TMPFILE == linux.O_TMPFILE:
		t.k.created(h.ino)
	case h.writable() && h.isRegular():
		t.k.keepAccess(h, was)
	}
	if truncated {
		t.k.touch(h.ino)
	}
	if created {
		t.k.nameEvent(l, linux.IN_CREATE, 0)
	}
	t.k.fileEvent(h, linux.IN_OPEN)
	if truncated {
		t.k.fileEvent(h, linux.IN_MODIFY)
	}
}

// closed is called when f's last descriptor is gone, before the host closes it.
func (k *Kernel) closed(f *hostFile) {
	if len(fsOf(k).inotifies) == 0 || f.flags&linux.O_PATH != 0 {
		return
	}
	mask := uint32(linux.IN_CLOSE_NOWRITE)
	if f.writable() {
		mask = linux.IN_CLOSE_WRITE
	}
	k.fileEvent(f, mask)
	if st, e := f.fileRef.stat(); e == 0 && st.nlink == 0 && !k.isOpen(f.ino) {
		k.notify(f.ino, inotifyEvent{mask: linux.IN_DELETE_SELF}, false)
	}
}
