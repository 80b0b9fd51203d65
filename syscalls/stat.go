package syscalls

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// Devices that files are on. Those of the host are on a virtual disk, major 254, minor 0; other file systems have major 0.
const (
	virtualDev = 0xfe00
	nsDev      = 4
	sockDev    = 8
	pipeDev    = 13
	anonDev    = 14 // anon_inodefs
	mqueueDev  = 19
	procDev    = 20 // these three in mountinfoText, too
	sysDev     = 21
	ptsDev     = 22
)

// An inodeKey is a file of the host, or a path of ours if dev is 0.
type inodeKey struct {
	dev, ino uint64
	path     string
}

// An inodeTable numbers files in the order in which the guest sees them.
type inodeTable struct {
	numbers map[inodeKey]uint64
	next    uint64
	// anonymous is the number of everything that has no inode of its own.
	anonymous uint64
	// procDev and sysDev are the host's devices behind /proc and /sys.
	procDev, sysDev uint64
	// times are those that the guest has changed.
	times map[uint64]fileTimes
	// modes are the permissions of files whose own the host does not let us change (Kernel.remembers).
	modes map[uint64]uint32
	// open is how often files of the host are open, by number: those have their times still when no link is left.
	open map[uint64]int
}

func (n *inodeTable) init() {
	n.numbers, n.times = map[inodeKey]uint64{}, map[uint64]fileTimes{}
	n.modes, n.open = map[uint64]uint32{}, map[uint64]int{}
	n.anonymous, n.next = 1, 2
	if s, e := hostStatAt(place{dir: noFD, path: "/proc"}, true); e == 0 {
		n.procDev = s.dev
	}
	if s, e := hostStatAt(place{dir: noFD, path: "/sys"}, true); e == 0 {
		n.sysDev = s.dev
	}
}

func (n *inodeTable) key(k inodeKey) uint64 {
	x, ok := n.numbers[k]
	if !ok {
		x = n.next
		n.next++
		n.numbers[k] = x
	}
	return x
}

// number is the guest's inode number of a host file.
func (n *inodeTable) number(dev, ino uint64) uint64 { return n.key(inodeKey{dev: dev, ino: ino}) }

// virtual is the inode number of a path of ours.
func (n *inodeTable) virtual(path string) uint64 { return n.key(inodeKey{path: path}) }

// unnamed is an inode number for what no path leads to, and which is looked up by it never.
func (n *inodeTable) unnamed() uint64 {
	n.next++
	return n.next - 1
}

// forget is called before a host file's last link goes: the host may give its
// number to the next file.
func (n *inodeTable) forget(s hostStat) {
	if s.nlink > 1 && s.mode&linux.S_IFMT != linux.S_IFDIR {
		return
	}
	key := inodeKey{dev: s.dev, ino: s.ino}
	if ino := n.numbers[key]; n.open[ino] == 0 {
		n.forgetState(ino)
	}
	delete(n.numbers, key)
}

func (n *inodeTable) forgetState(ino uint64) {
	delete(n.times, ino)
	delete(n.modes, ino)
}

// closed is called when the host's file key, whose number is ino, is closed once. linked says that a path may lead to it still,
// unless forget was called.
func (n *inodeTable) closed(key inodeKey, ino uint64, linked bool) {
	if n.open[ino]--; n.open[ino] > 0 {
		return
	}
	delete(n.open, ino)
	if !linked {
		delete(n.numbers, key)
	}
	if n.numbers[key] != ino {
		n.forgetState(ino)
	}
}

// A stat is what stat(2) tells.
type stat struct {
	dev, ino uint64
	mode     uint32
	nlink    uint64
	uid, gid uint32
	rdev     uint64
	size     int64
	fileTimes
}

// blocks is st_blocks: what the size needs. The host's count depends on its
// file system and on what is not yet written back.
func (s *stat) blocks() uint64 {
	if s.mode&linux.S_IFMT != linux.S_IFREG && s.mode&linux.S_IFMT != linux.S_IFDIR {
		return 0
	}
	return (uint64(s.size) + emu.PageSize - 1) / emu.PageSize * (emu.PageSize / 512)
}

// statFromHost hides what would differ between hosts or runs.
func (k *Kernel) statFromHost(h hostStat) stat {
	s := stat{
		dev: virtualDev, ino: fsOf(k).inodes.number(h.dev, h.ino), mode: h.mode, nlink: h.nlink, rdev: h.rdev, size: h.size,
		uid: h.uid, gid: h.gid, fileTimes: fileTimes{h.mtime, h.mtime, h.mtime},
	}
	if k.clock.real {
		s.fileTimes = h.fileTimes
	}
	ownUID, ownGID := hostOwnUID()
	if s.uid == ownUID {
		s.uid = k.uid
	}
	if s.gid == ownGID {
		s.gid = k.gid
	}
	fsOf(k).inodes.recall(&s)
	return s
}

// recall makes the times and permissions in s what the guest knows.
func (n *inodeTable) recall(s *stat) {
	if mode, ok := n.modes[s.ino]; ok {
		s.mode = s.mode&linux.S_IFMT | mode
	}
	s.fileTimes = s.with(n.times[s.ino])
}

// statOf stats a location.
func (t *Thread) statOf(l location, follow bool) (stat, linux.Errno) {
	if l.node != nil {
		if follow && l.node.file != nil {
			return l.node.file().stat(t)
		}
		return l.node.stat(t, l.guest), 0
	}
	h, e := l.stat(follow)
	if e != 0 {
		return stat{}, e
	}
	if h.dev == fsOf(t.k).inodes.procDev || h.dev == fsOf(t.k).inodes.sysDev {
		if v, e := t.throughLink(l.place); e == 0 {
			return t.statOf(v, follow)
		}
	}
	return t.k.statFromHost(h), 0
}

// throughLink finds our node for a host place that lies in the host's /proc or /sys.
func (t *Thread) throughLink(p place) (location, linux.Errno) {
	fd, e := hostOpen(p, linux.O_PATH, 0, 0)
	if e != 0 {
		return location{}, e
	}
	defer fd.close()
	l, e := t.relocate(fd.path())
	if e == 0 && l.node == nil {
		e = linux.ENOENT
	}
	return l, e
}

// statAt is stat(2) in all its forms.
func (t *Thread) statAt(dirfd int, name emu.Addr, flags int) (stat, linux.Errno) {
	s, e := t.path(name)
	if e != 0 {
		// "pathname may be NULL with AT_EMPTY_PATH" - statx(2), since Linux 6.11
		if name != 0 || flags&linux.AT_EMPTY_PATH == 0 {
			return stat{}, e
		}
	}
	if s == "" && flags&linux.AT_EMPTY_PATH != 0 {
		if dirfd == linux.AT_FDCWD {
			s = "."
		} else {
			f, e := t.file(dirfd)
			if e != 0 {
				return stat{}, e
			}
			return f.stat(t)
		}
	}
	follow := flags&linux.AT_SYMLINK_NOFOLLOW == 0
	l, e := t.locate(dirfd, s, follow)
	if e != 0 {
		return stat{}, e
	}
	return t.statOf(l, follow)
}

// encode is struct stat (arch/x86/include/uapi/asm/stat.h).
func (s *stat) encode() []byte {
	var b pack
	b.u64(s.dev)
	b.u64(s.ino)
	b.u64(s.nlink)
	b.u32(s.mode)
	b.u32(s.uid)
	b.u32(s.gid)
	b.u32(0)
	b.u64(s.rdev)
	b.i64(s.size)
	b.u64(emu.PageSize)
	b.u64(s.blocks())
	for _, x := range []fileTime{s.atime, s.mtime, s.ctime} {
		b.i64(x.sec)
		b.i64(int64(x.nsec))
	}
	b.zero(24)
	return b
}

// encodeStatx is struct statx (include/uapi/linux/stat.h).
func (s *stat) encodeStatx() []byte {
	var b pack
	b.u32(linux.STATX_BASIC_STATS)
	b.u32(emu.PageSize)
	b.u64(0) // attributes
	b.u32(uint32(s.nlink))
	b.u32(s.uid)
	b.u32(s.gid)
	b.u16(uint16(s.mode))
	b.u16(0)
	b.u64(s.ino)
	b.i64(s.size)
	b.u64(s.blocks())
	b.u64(0) // attributes_mask
	for _, x := range []fileTime{s.atime, {}, s.ctime, s.mtime} {
		b.i64(x.sec)
		b.u32(uint32(x.nsec))
		b.u32(0)
	}
	b.u32(major(s.rdev))
	b.u32(minor(s.rdev))
	b.u32(major(s.dev))
	b.u32(minor(s.dev))
	b.zero(256 - len(b))
	return b
}

// major and minor take a device number apart (include/linux/kdev_t.h, new_decode_dev).
func (t *Thread) finishStat(s stat, e linux.Errno, to emu.Addr) (uint64, linux.Errno) {
	if e != 0 {
		return 0, e
	}
	return 0, t.copyOut(to, s.encode())
}

// sysStat implements stat(2).
func sysStat(t *Thread, a Args) (uint64, linux.Errno) {
	s, e := t.statAt(linux.AT_FDCWD, a.Addr(0), 0)
	return t.finishStat(s, e, a.Addr(1))
}

// sysLstat implements lstat(2).
func sysLstat(t *Thread, a Args) (uint64, linux.Errno) {
	s, e := t.statAt(linux.AT_FDCWD, a.Addr(0), linux.AT_SYMLINK_NOFOLLOW)
	return t.finishStat(s, e, a.Addr(1))
}

// sysFstat implements fstat(2).
func sysFstat(t *Thread, a Args) (uint64, linux.Errno) {
	f, e := t.file(a.Int(0))
	if e != 0 {
		return 0, e
	}
	s, e := f.stat(t)
	return t.finishStat(s, e, a.Addr(1))
}

// sysNewfstatat implements fstatat(2).
func sysNewfstatat(t *Thread, a Args) (uint64, linux.Errno) {
	flags := a.Int(3)
	if flags&^(linux.AT_SYMLINK_NOFOLLOW|linux.AT_NO_AUTOMOUNT|linux.AT_EMPTY_PATH|linux.AT_STATX_SYNC_TYPE) != 0 && !(a.Int(0) >= 0 && t.noPath(a.Addr(1), flags)) {
		return 0, linux.EINVAL
	}
	s, e := t.statAt(a.Int(0), a.Addr(1), flags)
	return t.finishStat(s, e, a.Addr(2))
}

// noPath reports whether a descriptor alone names the file (since Linux 6.11): other flags are not looked at then.
func (t *Thread) noPath(name emu.Addr, flags int) bool {
	if flags&linux.AT_EMPTY_PATH == 0 || name == 0 {
		return flags&linux.AT_EMPTY_PATH != 0
	}
	s, e := t.path(name)
	return e == 0 && s == ""
}

// sysStatx implements statx(2).
func sysStatx(t *Thread, a Args) (uint64, linux.Errno) {
	flags := a.Int(2)
	const statxReserved = 1 << 31
	if flags&linux.AT_STATX_SYNC_TYPE == linux.AT_STATX_SYNC_TYPE || a.U32(3)&statxReserved != 0 ||
		flags&^(linux.AT_SYMLINK_NOFOLLOW|linux.AT_NO_AUTOMOUNT|linux.AT_EMPTY_PATH|linux.AT_STATX_SYNC_TYPE) != 0 && !(a.Int(0) >= 0 && t.noPath(a.Addr(1), flags)) {
		return 0, linux.EINVAL
	}
	s, e := t.statAt(a.Int(0), a.Addr(1), flags)
	if e != 0 {
		return 0, e
	}
	return 0, t.copyOut(a.Addr(4), s.encodeStatx())
}
