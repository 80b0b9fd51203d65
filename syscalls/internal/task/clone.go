package task

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// Flags of clone(2) and clone3(2) by what they are for.
const (
	// CloneNamespaces ask for new namespaces, which the guest may not have. CLONE_NEWTIME, 0x80, is part of the
	// signal's number in clone(2).
	CloneNamespaces = 0x7e020080
	// Clone3Flags are all flags that clone3(2) takes.
	Clone3Flags = 0xffffff80&^linux.CLONE_DETACHED | linux.CLONE_CLEAR_SIGHAND | linux.CLONE_INTO_CGROUP

	// cloneThreadFlags make a thread. One of them without the others makes a process here.
	cloneThreadFlags = linux.CLONE_VM | linux.CLONE_SIGHAND | linux.CLONE_THREAD
)

// A CloneArgs has the arguments of clone(2), clone3(2), fork(2) and vfork(2).
type CloneArgs struct {
	// Flags are CLONE_*, without the signal's number in clone(2).
	Flags uint64
	// ParentTID and ChildTID are where the new thread's id is written, if the flags ask for it.
	ParentTID, ChildTID emu.Addr
	Stack               uint64 // the new RSP, 0 to keep it
	// Tls is the new FS base, for CLONE_SETTLS.
	Tls uint64
	// ExitSignal is what the parent gets when the process ends, 0 for nothing.
	ExitSignal int
	// SetTIDSize is how many ids clone3(2) is asked to give: only 0 is allowed.
	SetTIDSize uint64
	// PidFD is where AddPidFile, which opens a pidfd for q in t, writes its number, for CLONE_PIDFD.
	PidFD      emu.Addr
	AddPidFile func(t *Thread, q *Process, at emu.Addr) linux.Errno
}

// Clone makes a thread or a process, as c.Flags say, and returns its id.
func (t *Thread) Clone(c CloneArgs) (uint64, linux.Errno) {
	switch {
	case c.Flags&linux.CLONE_SIGHAND != 0 && c.Flags&linux.CLONE_VM == 0,
		c.Flags&linux.CLONE_THREAD != 0 && c.Flags&linux.CLONE_SIGHAND == 0,
		c.Flags&linux.CLONE_PIDFD != 0 && c.Flags&linux.CLONE_DETACHED != 0,
		c.Flags&linux.CLONE_PIDFD != 0 && c.Flags&linux.CLONE_PARENT_SETTID != 0 && c.PidFD == c.ParentTID,
		c.Flags&linux.CLONE_FS != 0 && c.Flags&(linux.CLONE_NEWNS|linux.CLONE_NEWUSER) != 0:
		return 0, linux.EINVAL
	case c.Flags&CloneNamespaces != 0, c.Flags&linux.CLONE_SETTLS != 0 && c.Tls >= uio.TaskSize:
		return 0, linux.EPERM
	case !t.Process.mayClone():
		return 0, linux.EAGAIN
	case c.Flags&cloneThreadFlags != cloneThreadFlags:
		return t.fork(c)
	case c.Flags&linux.CLONE_PIDFD != 0:
		return 0, linux.EINVAL
	}
	o := t.Process.NewThread(emu.NewCPU())
	o.Files = t.Files.Share(c.Flags)
	o.CPU.Copy(t.CPU)
	o.CPU.Regs[emu.RAX] = 0
	o.Comm, o.Mask, o.timerSlack, o.Sched = t.Comm, t.Mask, t.timerSlack, t.Sched.inherited(c.Flags)
	o.defaultSlack, o.KeepCaps, o.mceKill = t.timerSlack, t.KeepCaps, t.mceKill
	if c.Stack != 0 {
		o.CPU.Regs[emu.RSP] = c.Stack
	}
	if c.Flags&linux.CLONE_SETTLS != 0 {
		o.CPU.FSBase = c.Tls
	}
	if c.Flags&linux.CLONE_PARENT_SETTID != 0 {
		t.Out32(c.ParentTID, uint32(o.TID))
	}
	if c.Flags&linux.CLONE_CHILD_SETTID != 0 {
		t.Out32(c.ChildTID, uint32(o.TID))
	}
	if c.Flags&linux.CLONE_CHILD_CLEARTID != 0 {
		o.ClearTID = c.ChildTID
	}
	if c.Flags&linux.CLONE_SYSVSEM != 0 {
		t.Kernel.IPC.ShareUndo(t.Process, t.Process)
	}
	t.Kernel.ready = append(t.Kernel.ready, o)
	return uint64(o.TID), 0
}
