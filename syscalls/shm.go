package syscalls

import (
	"fmt"
	"strconv"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// shmDev is the device of mappings of System V shared memory in /proc/PID/maps.
const shmDev = 1

// A shmSegment is a piece of shared memory: a file without a name. Who has it attached is seen in the
// address spaces.
type shmSegment struct {
	ipcObject
	fd            hostFD
	size, ino     uint64
	atime, dtime  int64
	creator, last int
}

// sysShmget implements shmget(2).
func sysShmget(t *Thread, a Args) (uint64, linux.Errno) {
	t.k.reapShm()
	size := a.Uint(1)
	return ipcOf(t.k).shm.get(t, a.Int(0), a.Int(2), func(s *shmSegment) bool { return size <= s.size },
		func(o ipcObject) (*shmSegment, linux.Errno) {
			if size < 1 || size > uint64(mem.MaxAddr) {
				return nil, linux.EINVAL
			}
			fd, e := hostMemfd("cgemu-shm", 0)
			if e != 0 {
				return nil, e
			}
			if e := fd.truncate(int64(emu.Addr(size).PageUp())); e != 0 {
				fd.close()
				return nil, e
			}
			ino := fsOf(t.k).inodes.virtual("/SYSV:" + strconv.Itoa(o.id))
			return &shmSegment{ipcObject: o, fd: fd, size: size, ino: ino, creator: t.p.pid}, 0
		})
}

// attached is how many mappings s has.
func (s *shmSegment) attached(k *Kernel) uint64 {
	var n uint64
	seen := map[*machine]bool{}
	for _, p := range k.procs {
		if p.machine == nil || seen[p.machine] {
			continue
		}
		seen[p.machine] = true
		for _, v := range p.mem.VMAs() {
			if v.Dev == shmDev && v.Ino == s.ino {
				n++
			}
		}
	}
	return n
}

// reapShm forgets segments that are to be removed and that nobody has attached any more.
func (k *Kernel) reapShm() {
	for i := len(ipcOf(k).shm.list) - 1; i >= 0; i-- {
		if s := ipcOf(k).shm.list[i]; s.mode&linux.SHM_DEST != 0 && s.attached(k) == 0 {
			ipcOf(k).shm.remove(s.id)
			s.fd.close()
		}
	}
}

// sysShmat implements shmat(2).
func sysShmat(t *Thread, a Args) (uint64, linux.Errno) {
	t.k.reapShm()
	at, flags := a.Addr(1), a.Int(2)
	if a.Int(0) < 0 {
		return 0, linux.EINVAL
	}
	if !at.PageAligned() {
		if flags&linux.SHM_RND == 0 {
			return 0, linux.EINVAL
		}
		at = at.PageDown()
	}
	if at == 0 && flags&linux.SHM_REMAP != 0 {
		return 0, linux.EINVAL
	}
	s, e := ipcOf(t.k).shm.find(a.Int(0))
	if e != 0 {
		return 0, e
	}
	prot, want := mem.Read|mem.Write, uint32(ipcRead|ipcWrite)
	if flags&linux.SHM_RDONLY != 0 {
		prot, want = mem.Read, ipcRead
	}
	if flags&linux.SHM_EXEC != 0 {
		prot, want = prot|mem.Exec, want|0o100
	}
	if e := s.allows(want); e != 0 {
		return 0, e
	}
	size := uint64(emu.Addr(s.size).PageUp())
	if at != 0 {
		if _, e := t.mapAddr(at, size, linux.MAP_FIXED); e != 0 {
			return 0, linux.EINVAL
		}
		if flags&linux.SHM_REMAP == 0 && !t.p.mem.Free(at, at+emu.Addr(size)) {
			return 0, linux.EINVAL
		}
	} else if at, e = t.mapAddr(0, size, 0); e != 0 {
		return 0, e
	}
	v := mem.VMA{
		Lo: at, Hi: at + emu.Addr(size), Prot: prot, Shared: true,
		Path: fmt.Sprintf("/SYSV%08x (deleted)", uint32(s.key)), Dev: shmDev, Ino: s.ino,
	}
	if e := t.mapHost(v, s.fd); e != 0 {
		return 0, e
	}
	s.atime, s.last = t.k.wall()/1e9, t.p.pid
	return uint64(at), 0
}

// sysShmdt implements shmdt(2).
func sysShmdt(t *Thread, a Args) (uint64, linux.Errno) {
	at := a.Addr(0)
	if !at.PageAligned() {
		return 0, linux.EINVAL
	}
	for _, s := range ipcOf(t.k).shm.list {
		var lo, hi emu.Addr
		for _, v := range t.p.mem.VMAs() {
			if v.Dev == shmDev && v.Ino == s.ino && v.Lo >= at && uint64(v.Lo-at) == v.Off {
				if lo == 0 {
					lo = v.Lo
				}
				hi = v.Hi
			}
		}
		if lo == 0 {
			continue
		}
		t.p.mem.Unmap(lo, hi)
		s.dtime, s.last = t.k.wall()/1e9, t.p.pid
		t.k.reapShm()
		return 0, 0
	}
	return 0, linux.EINVAL
}

// sysShmctl implements shmctl(2).
func sysShmctl(t *Thread, a Args) (uint64, linux.Errno) {
	t.k.reapShm()
	id, cmd, buf := a.Int(0), a.Int(1), a.Addr(2)
	if id < 0 || cmd < 0 {
		return 0, linux.EINVAL
	}
	x := &ipcOf(t.k).shm
	switch cmd {
	case linux.IPC_INFO:
		return x.last(), t.copyOut(buf, u64s(1<<64-1<<24-1, 1, 4096, 4096, 1<<64-1<<24-1, 0, 0, 0, 0))
	case linux.SHM_INFO:
		var pages uint64
		for _, s := range x.list {
			pages += (s.size + emu.PageSize - 1) / emu.PageSize
		}
		return x.last(), t.copyOut(buf, u64s(uint64(len(x.list)), pages, pages, 0, 0, 0))
	case linux.SHM_STAT:
		return x.stat(t, x.at, id, ipcRead, buf)
	case linux.SHM_STAT_ANY:
		return x.stat(t, x.at, id, 0, buf)
	case linux.IPC_STAT:
		_, e := x.stat(t, x.find, id, ipcRead, buf)
		return 0, e
	}
	s, e := x.find(id)
	if e != 0 {
		return 0, e
	}
	switch cmd {
	case linux.IPC_SET:
		return 0, s.set(t, buf)
	case linux.IPC_RMID:
		// "The segment will actually be destroyed only after the last process detaches it" - shmctl(2)
		s.mode |= linux.SHM_DEST
		s.key = linux.IPC_PRIVATE
		t.k.reapShm()
		return 0, 0
	case linux.SHM_LOCK, linux.SHM_UNLOCK:
		return 0, 0
	}
	return 0, linux.EINVAL
}

// encode is struct shmid64_ds (include/uapi/asm-generic/shmbuf.h).
func (s *shmSegment) encode(k *Kernel) []byte {
	b := s.permissions(k)
	b.u64(s.size)
	b.i64(s.atime)
	b.i64(s.dtime)
	b.i64(s.ctime)
	b.u32(uint32(s.creator))
	b.u32(uint32(s.last))
	b.u64(s.attached(k))
	b.zero(16)
	return b
}
