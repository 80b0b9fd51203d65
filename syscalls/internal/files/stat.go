package files

import (
	"cmp"
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/host"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
)

// AllAre is EPERM unless all ids are own, or -1, which leaves an id as it is.
func AllAre(own uint32, ids ...uint32) linux.Errno {
	const leave = 1<<32 - 1
	for _, id := range ids {
		if id != leave && id != own {
			return linux.EPERM
		}
	}
	return 0
}

// Devices that files are on. Those of the host are on a virtual disk, major 254, minor 0; other file systems have major
// 0.
const (
	VirtualDev = 0xfe00
	NsDev      = 4
	SockDev    = 8
	pipeDev    = 13
	anonDev    = 14 // anon_inodefs
	MqueueDev  = 19
	procDev    = 20 // these three in mountinfoText, too
	sysDev     = 21
	ptsDev     = 22
)

// An inodeTable numbers files in the order in which the guest sees them.
type inodeTable struct {
	Numbers map[host.FileID]uint64
	next    uint64
	// anonymous is the number of everything that has no inode of its own.
	anonymous uint64
	// ProcDev and SysDev are the host's devices behind /proc and /sys.
	ProcDev, SysDev uint64
	// Times are those that the guest has changed.
	Times map[uint64]host.Times
	// modes are the permissions of files whose own the host does not let us change (Remembers).
	modes map[uint64]uint32
	// Opened are the open files of the host, by number, whoever holds them: descriptors, messages on their way, calls
	// that wait. Those have their times still when no link is left.
	Opened map[uint64][]*HostFile
	// Forgotten is told of host files whose last link went, for who else knows them by what the host may give to the
	// next file.
	Forgotten func(host.FileID)
}

func (n *inodeTable) init() {
	n.Numbers, n.Times = map[host.FileID]uint64{}, map[uint64]host.Times{}
	n.modes, n.Opened = map[uint64]uint32{}, map[uint64][]*HostFile{}
	n.anonymous, n.next = 1, 2
	if !host.Direct {
		return
	}
	if s, e := host.StatAt(host.Place{Dir: host.NoFD, Path: "/proc"}, true); e == 0 {
		n.ProcDev = s.Dev
	}
	if s, e := host.StatAt(host.Place{Dir: host.NoFD, Path: "/sys"}, true); e == 0 {
		n.SysDev = s.Dev
	}
}

func (n *inodeTable) key(k host.FileID) uint64 {
	x, ok := n.Numbers[k]
	if !ok {
		x = n.next
		n.next++
		n.Numbers[k] = x
	}
	return x
}

// Number is the guest's inode number of a host file.
func (n *inodeTable) Number(dev, ino uint64) uint64 { return n.key(host.FileID{Dev: dev, Ino: ino}) }

// Virtual is the inode number of a path of ours.
func (n *inodeTable) Virtual(path string) uint64 { return n.key(host.FileID{Path: path}) }

// Unnamed is an inode number for what no path leads to, and which is looked up by it never.
func (n *inodeTable) Unnamed() uint64 {
	n.next++
	return n.next - 1
}

// Forget is called before a host file's last link goes: the host may give its
// number to the next file.
func (n *inodeTable) Forget(s host.Stat) {
	if s.Nlink > 1 && s.Mode&linux.S_IFMT != linux.S_IFDIR {
		return
	}
	key := host.FileID{Dev: s.Dev, Ino: s.Ino}
	if ino := n.Numbers[key]; len(n.Opened[ino]) == 0 {
		n.forgetState(ino)
	}
	delete(n.Numbers, key)
	n.Forgotten(key)
}

func (n *inodeTable) forgetState(ino uint64) {
	delete(n.Times, ino)
	delete(n.modes, ino)
}

// enter puts h among the files that are open.
func (n *inodeTable) enter(h *HostFile) {
	h.slot = len(n.Opened[h.Ino])
	n.Opened[h.Ino] = append(n.Opened[h.Ino], h)
}

// leave takes h, which is about to be closed, out of them. The last one gets its slot.
func (n *inodeTable) leave(h *HostFile) {
	opened := n.Opened[h.Ino]
	last := len(opened) - 1
	opened[h.slot], opened[last].slot = opened[last], h.slot
	opened[last] = nil
	if n.Opened[h.Ino] = opened[:last]; last == 0 {
		delete(n.Opened, h.Ino)
	}
}

// closed is called when h was closed. linked says that a path may lead to the file still, unless Forget was called.
func (n *inodeTable) closed(h *HostFile, linked bool) {
	if n.isOpen(h.Ino) {
		return
	}
	key := host.FileID{Dev: h.Dev, Ino: h.hostIno}
	if !linked {
		delete(n.Numbers, key)
	}
	if n.Numbers[key] != h.Ino {
		n.forgetState(h.Ino)
	}
}

// isOpen reports whether a process has file ino open.
func (n *inodeTable) isOpen(ino uint64) bool { return len(n.Opened[ino]) > 0 }

// hasWriter reports whether a process has file ino open for writing. The description that memfd_create(2) made does not
// count.
func (n *inodeTable) hasWriter(ino uint64) bool {
	return slices.ContainsFunc(n.Opened[ino], func(h *HostFile) bool { return h.Writable() && !h.IsMemfd() })
}

// A Stat is what stat(2) tells.
type Stat struct {
	Dev, Ino uint64
	Mode     uint32
	Nlink    uint64
	UID, GID uint32
	rdev     uint64
	Size     int64
	// holes is how many pages of a regular file hold no data.
	holes uint64
	host.Times
}

// blocks is st_blocks: what the size needs, less the holes. The host's count depends on
// its file system and on what is not yet written back.
func (s *Stat) blocks() uint64 {
	if s.Mode&linux.S_IFMT != linux.S_IFREG && s.Mode&linux.S_IFMT != linux.S_IFDIR {
		return 0
	}
	return (pagesOf(s.Size) - s.holes) * (emu.PageSize / 512)
}

// statFromHost hides what would differ between hosts or runs.
func statFromHost(k *task.Kernel, h host.Stat) Stat {
	s := Stat{
		Dev: VirtualDev, Ino: SystemOf(k).Inodes.Number(h.Dev, h.Ino), Mode: h.Mode, Nlink: h.Nlink, rdev: h.Rdev, Size: h.Size,
		UID: h.UID, GID: h.GID, Times: host.Times{Atime: h.Mtime, Mtime: h.Mtime, Ctime: h.Mtime},
	}
	if k.Clock.Real {
		s.Times = h.Times
	} else {
		SystemOf(k).Private.hides(h, &s)
	}
	uid, gid := SystemOf(k).user.UID, SystemOf(k).user.GID
	if h.Dev >= nodeDev { // whose owners may be none of the host's
		switch g := SystemOf(k).guest; {
		case SystemOf(k).isolated:
			uid, gid = k.UID, k.GID
		case g != nil:
			uid, gid = g.UID, g.GID
		}
	}
	if s.UID == uid {
		s.UID = k.UID
	}
	if s.GID == gid {
		s.GID = k.GID
	}
	SystemOf(k).Inodes.recall(&s)
	return s
}

// recall makes the times and permissions in s what the guest knows.
func (n *inodeTable) recall(s *Stat) {
	if mode, ok := n.modes[s.Ino]; ok {
		s.Mode = s.Mode&linux.S_IFMT | mode
	}
	s.Times = with(s.Times, n.Times[s.Ino])
}

// StatOf stats a location.
func StatOf(t *task.Thread, l Location, follow bool) (Stat, linux.Errno) {
	if l.Node != nil {
		if follow && l.Node.File != nil {
			return l.Node.File().Stat(t)
		}
		return l.Node.Stat(t, l.Guest), 0
	}
	h, e := l.Stat(follow)
	if e != 0 {
		return Stat{}, e
	}
	if h.Dev == SystemOf(t.Kernel).Inodes.ProcDev || h.Dev == SystemOf(t.Kernel).Inodes.SysDev {
		if v, e := throughLink(t, l.Place); e == 0 {
			return StatOf(t, v, follow)
		}
	}
	s := statFromHost(t.Kernel, h)
	s.holes = holesAt(l.FileAt, h)
	return s, 0
}

// throughLink finds our node for a host place that lies in the host's /proc or /sys.
func throughLink(t *task.Thread, p host.Place) (Location, linux.Errno) {
	fd, e := host.Open(p, linux.O_PATH, 0, 0)
	if e != 0 {
		return Location{}, e
	}
	defer fd.Close()
	l, e := Relocate(t, fd.Path())
	if e == 0 && l.Node == nil {
		e = linux.ENOENT
	}
	return l, e
}

// encode is struct stat (arch/x86/include/uapi/asm/stat.h).
func (s *Stat) encode() []byte {
	var b linux.Pack
	b.U64(s.Dev)
	b.U64(s.Ino)
	b.U64(s.Nlink)
	b.U32(s.Mode)
	b.U32(s.UID)
	b.U32(s.GID)
	b.U32(0)
	b.U64(s.rdev)
	b.I64(s.Size)
	b.U64(emu.PageSize)
	b.U64(s.blocks())
	for _, x := range []host.Time{s.Atime, s.Mtime, s.Ctime} {
		b.I64(x.Sec)
		b.I64(int64(x.Nsec))
	}
	b.Zero(24)
	return b
}

// born is when a file was made, as far as its times tell: none is older. Files that are not on the disk do not say.
func (s *Stat) born() (at host.Time, ok bool) {
	if s.Dev != VirtualDev {
		return host.Time{}, false
	}
	return slices.MinFunc([]host.Time{s.Atime, s.Mtime, s.Ctime}, func(a, b host.Time) int {
		return cmp.Or(cmp.Compare(a.Sec, b.Sec), cmp.Compare(a.Nsec, b.Nsec))
	}), true
}

// EncodeStatx is struct statx (include/uapi/linux/stat.h).
func (s *Stat) EncodeStatx() []byte {
	var b linux.Pack
	born, ok := s.born()
	if ok {
		b.U32(linux.STATX_BASIC_STATS | linux.STATX_BTIME)
	} else {
		b.U32(linux.STATX_BASIC_STATS)
	}
	b.U32(emu.PageSize)
	b.U64(0) // attributes
	b.U32(uint32(s.Nlink))
	b.U32(s.UID)
	b.U32(s.GID)
	b.U16(uint16(s.Mode))
	b.U16(0)
	b.U64(s.Ino)
	b.I64(s.Size)
	b.U64(s.blocks())
	b.U64(0) // attributes_mask
	for _, x := range []host.Time{s.Atime, born, s.Ctime, s.Mtime} {
		b.I64(x.Sec)
		b.U32(uint32(x.Nsec))
		b.U32(0)
	}
	b.U32(linux.Major(s.rdev))
	b.U32(linux.Minor(s.rdev))
	b.U32(linux.Major(s.Dev))
	b.U32(linux.Minor(s.Dev))
	b.Zero(256 - len(b))
	return b
}

// FinishStat ends a call that gives s or an error.
func FinishStat(t *task.Thread, s Stat, e linux.Errno, to emu.Addr) (uint64, linux.Errno) {
	if e != 0 {
		return 0, e
	}
	return 0, t.CopyOut(to, s.encode())
}
