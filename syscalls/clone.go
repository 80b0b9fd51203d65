package syscalls

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// sysClone implements clone(2).
func sysClone(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	const signalMask = 0xff
	return t.Clone(task.CloneArgs{
		PidFD: a.Addr(2), AddPidFile: addPidFile,
		Flags: uint64(a.U32(0)) &^ signalMask, ExitSignal: int(a.Uint(0) & signalMask),
		Stack: a.Uint(1), ParentTID: a.Addr(2), ChildTID: a.Addr(3), Tls: a.Uint(4),
	})
}

// sysClone3 implements clone3(2).
func sysClone3(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	if t.Kernel.Config.Compat {
		return 0, linux.ENOSYS // as under Valgrind 3.19, which does not know it: the C library uses clone(2) then
	}
	const minSize, maxSize = 64, 88
	size := a.Uint(1)
	switch {
	case size < minSize:
		return 0, linux.EINVAL
	case size > emu.PageSize:
		return 0, linux.E2BIG
	}
	b, e := t.CopyIn(a.Addr(0), int(size))
	if e != 0 {
		return 0, e
	}
	for _, x := range b[min(len(b), maxSize):] {
		if x != 0 {
			return 0, linux.E2BIG
		}
	}
	b = append(b, make([]byte, maxSize)...)
	if linux.Uint64(b[32:]) > linux.NSIG {
		return 0, linux.EINVAL
	}
	c := task.CloneArgs{
		Flags: linux.Uint64(b), ChildTID: emu.Addr(linux.Uint64(b[16:])), ParentTID: emu.Addr(linux.Uint64(b[24:])),
		ExitSignal: int(linux.Uint64(b[32:])), Tls: linux.Uint64(b[56:]), SetTIDSize: linux.Uint64(b[72:]),
		PidFD: emu.Addr(linux.Uint64(b[8:])), AddPidFile: addPidFile,
	}
	if stack, n := linux.Uint64(b[40:]), linux.Uint64(b[48:]); stack != 0 || n != 0 {
		if stack == 0 || n == 0 {
			return 0, linux.EINVAL
		}
		c.Stack = stack + n
	}
	if c.Flags&^task.Clone3Flags != 0 || c.Flags&(linux.CLONE_THREAD|linux.CLONE_PARENT) != 0 && c.ExitSignal != 0 || c.SetTIDSize != 0 ||
		c.Flags&(linux.CLONE_SIGHAND|linux.CLONE_CLEAR_SIGHAND) == linux.CLONE_SIGHAND|linux.CLONE_CLEAR_SIGHAND {
		return 0, linux.EINVAL
	}
	if c.Flags&linux.CLONE_INTO_CGROUP != 0 {
		return 0, linux.EBADF // CLONE_INTO_CGROUP needs a descriptor of a cgroup, and there are none
	}
	return t.Clone(c)
}

// sysFork implements fork(2).
func sysFork(t *task.Thread, _ uio.Args) (uint64, linux.Errno) {
	return t.Clone(task.CloneArgs{ExitSignal: linux.SIGCHLD})
}

// sysVfork implements vfork(2).
func sysVfork(t *task.Thread, _ uio.Args) (uint64, linux.Errno) {
	return t.Clone(task.CloneArgs{Flags: linux.CLONE_VM | linux.CLONE_VFORK, ExitSignal: linux.SIGCHLD})
}
