package syscalls

import (
	"fmt"
	"strconv"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/host"
	"github.com/cgemu/cgemu/syscalls/internal/ipc"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// sysShmget implements shmget(2).
func sysShmget(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	reapShm(t.Kernel)
	size := a.Uint(1)
	return ipc.NamespaceOf(t.Kernel).Shm.Get(t, a.Int(0), a.Int(2), ipc.MaxShm, func(s *ipc.ShmSegment) bool { return size <= s.Size },
		func(o ipc.Object) (*ipc.ShmSegment, linux.Errno) {
			if size < 1 || size > uint64(mem.MaxAddr) {
				return nil, linux.EINVAL
			}
			fd, e := host.Memfd("cgemu-shm", 0)
			if e != 0 {
				return nil, e
			}
			if e := fd.Truncate(int64(emu.Addr(size).PageUp())); e != 0 {
				fd.Close()
				return nil, e
			}
			ino := files.SystemOf(t.Kernel).Inodes.Virtual("/SYSV:" + strconv.Itoa(o.ID))
			return &ipc.ShmSegment{Object: o, FD: fd, Size: size, Ino: ino, Creator: t.Process.PID}, 0
		})
}

// reapShm frees the segments that are marked for removal and that nobody has attached any more.
func reapShm(k *task.Kernel) {
	for i := len(ipc.NamespaceOf(k).Shm.List) - 1; i >= 0; i-- {
		if s := ipc.NamespaceOf(k).Shm.List[i]; s.Mode&linux.SHM_DEST != 0 && s.Attached(k) == 0 {
			ipc.NamespaceOf(k).Shm.Remove(s.ID)
			s.FD.Close()
		}
	}
}

// sysShmat implements shmat(2).
func sysShmat(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	reapShm(t.Kernel)
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
	s, e := ipc.NamespaceOf(t.Kernel).Shm.Find(a.Int(0))
	if e != 0 {
		return 0, e
	}
	prot, want := mem.Read|mem.Write, uint32(ipc.Read|ipc.Write)
	if flags&linux.SHM_RDONLY != 0 {
		prot, want = mem.Read, ipc.Read
	}
	if flags&linux.SHM_EXEC != 0 {
		prot, want = prot|mem.Exec, want|0o100
	}
	if e := s.Allows(want); e != 0 {
		return 0, e
	}
	size := uint64(emu.Addr(s.Size).PageUp())
	if at != 0 {
		if _, e := mapAddr(t, at, size, linux.MAP_FIXED); e != 0 {
			return 0, linux.EINVAL
		}
		if flags&linux.SHM_REMAP == 0 && !t.Process.Mem.Free(at, at+emu.Addr(size)) {
			return 0, linux.EINVAL
		}
	} else if at, e = mapAddr(t, 0, size, 0); e != 0 {
		return 0, e
	}
	v := mem.VMA{
		Lo: at, Hi: at + emu.Addr(size), Prot: prot, Shared: true,
		Path: fmt.Sprintf("/SYSV%08x (deleted)", uint32(s.Key)), Dev: ipc.ShmDev, Ino: s.Ino,
	}
	if e := mapHost(t, v, s.FD); e != 0 {
		return 0, e
	}
	s.Atime, s.Last = t.Kernel.Wall()/1e9, t.Process.PID
	return uint64(at), 0
}

// sysShmdt implements shmdt(2).
func sysShmdt(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	at := a.Addr(0)
	if !at.PageAligned() {
		return 0, linux.EINVAL
	}
	for _, s := range ipc.NamespaceOf(t.Kernel).Shm.List {
		var lo, hi emu.Addr
		for _, v := range t.Process.Mem.VMAs() {
			if v.Dev == ipc.ShmDev && v.Ino == s.Ino && v.Lo >= at && uint64(v.Lo-at) == v.Off {
				if lo == 0 {
					lo = v.Lo
				}
				hi = v.Hi
			}
		}
		if lo == 0 {
			continue
		}
		t.Process.Mem.Unmap(lo, hi)
		s.Dtime, s.Last = t.Kernel.Wall()/1e9, t.Process.PID
		reapShm(t.Kernel)
		return 0, 0
	}
	return 0, linux.EINVAL
}

// sysShmctl implements shmctl(2).
func sysShmctl(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	reapShm(t.Kernel)
	id, cmd, buf := a.Int(0), a.Int(1), a.Addr(2)
	if id < 0 || cmd < 0 {
		return 0, linux.EINVAL
	}
	x := &ipc.NamespaceOf(t.Kernel).Shm
	switch cmd {
	case linux.IPC_INFO:
		return x.Last(), t.CopyOut(buf, linux.U64s(1<<64-1<<24-1, 1, 4096, 4096, 1<<64-1<<24-1, 0, 0, 0, 0))
	case linux.SHM_INFO:
		var pages uint64
		for _, s := range x.List {
			pages += (s.Size + emu.PageSize - 1) / emu.PageSize
		}
		return x.Last(), t.CopyOut(buf, linux.U64s(uint64(len(x.List)), pages, pages, 0, 0, 0))
	case linux.SHM_STAT:
		return x.Stat(t, x.At, id, ipc.Read, buf)
	case linux.SHM_STAT_ANY:
		return x.Stat(t, x.At, id, 0, buf)
	case linux.IPC_STAT:
		_, e := x.Stat(t, x.Find, id, ipc.Read, buf)
		return 0, e
	}
	s, e := x.Find(id)
	if e != 0 {
		return 0, e
	}
	switch cmd {
	case linux.IPC_SET:
		return 0, s.SetPermissions(t, buf)
	case linux.IPC_RMID:
		// "The segment will actually be destroyed only after the last process detaches it" - shmctl(2)
		s.Mode |= linux.SHM_DEST
		s.Key = linux.IPC_PRIVATE
		reapShm(t.Kernel)
		return 0, 0
	case linux.SHM_LOCK, linux.SHM_UNLOCK:
		return 0, 0
	}
	return 0, linux.EINVAL
}
