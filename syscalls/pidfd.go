package syscalls

import (
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// newPidFile returns a pidfd for p.
func newPidFile(p *task.Process, flags int) *files.PidFile {
	return &files.PidFile{FileBase: files.FileBase{Flags: linux.O_RDWR | flags&linux.O_NONBLOCK, Path: "anon_inode:[pidfd]"}, Process: p}
}

// getPidFile returns the pidfd behind descriptor fd.
func getPidFile(t *task.Thread, fd int) (*files.PidFile, linux.Errno) {
	f, e := files.GetRawFile(t, fd)
	if e != 0 {
		return nil, e
	}
	pf, ok := f.(*files.PidFile)
	if !ok {
		return nil, linux.EBADF
	}
	return pf, 0
}

// sysPidfdOpen implements pidfd_open(2).
func sysPidfdOpen(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	pid, flags := a.Int(0), a.Int(1)
	if flags&^linux.O_NONBLOCK != 0 || pid <= 0 {
		return 0, linux.EINVAL
	}
	p := t.Kernel.Process(pid)
	if p == nil {
		if t.Kernel.FindThread(-1, pid) != nil {
			return 0, linux.EINVAL
		}
		return 0, linux.ESRCH
	}
	return files.Install(t, newPidFile(p, flags), linux.O_CLOEXEC)
}

// sysPidfdSendSignal implements pidfd_send_signal(2).
func sysPidfdSendSignal(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	sig := a.Int(1)
	const thread, group = 1, 4 // 2 is the process, which is also the default
	scope := a.U32(3)
	if scope > group || scope&(scope-1) != 0 {
		return 0, linux.EINVAL
	}
	p, e := signalled(t, a.Int(0))
	if e != 0 {
		return 0, e
	}
	s := task.InfoFromProcess(t.Process, sig, linux.SI_USER)
	if a.Addr(2) != 0 {
		n, e := t.In32(a.Addr(2))
		if e == 0 {
			s, e = t.CopyInSigInfo(int(int32(n)), a.Addr(2))
		}
		to := p.PID
		if scope == group {
			to = 0 // never t itself
		}
		switch {
		case e != 0:
			return 0, e
		case int(int32(n)) != sig:
			return 0, linux.EINVAL
		case t.MayClaim(s, to) != 0:
			return 0, linux.EPERM
		}
	}
	switch {
	case scope == group && !slices.ContainsFunc(t.Kernel.Processes, func(o *task.Process) bool { return o.PGID == p.PID }):
		return 0, linux.ESRCH
	case sig < 0 || sig > linux.NSIG:
		return 0, linux.EINVAL
	case t.Kernel.Process(p.PID) != p:
		return 0, linux.ESRCH
	case sig == 0:
	case scope == group:
		for _, o := range t.Kernel.Processes {
			if o.PGID == p.PID {
				o.Send(s)
			}
		}
	case scope == thread:
		return 0, p.Threads[0].Send(s)
	default:
		return 0, p.Send(s)
	}
	return 0, 0
}

// signalled returns the process that a descriptor stands for: that of a pidfd or of a directory /proc/PID.
func signalled(t *task.Thread, fd int) (*task.Process, linux.Errno) {
	f, e := files.GetFile(t, fd)
	if e != 0 {
		return nil, e
	}
	switch f := f.(type) {
	case *files.PidFile:
		return f.Process, 0
	case *files.VirtualDir:
		if f.Node.Process != nil {
			return f.Node.Process, 0
		}
	}
	return nil, linux.EBADF
}

// addPidFile gives t's process a pidfd for p, and writes its number to out.
func addPidFile(t *task.Thread, p *task.Process, out emu.Addr) linux.Errno {
	fd, e := files.Install(t, newPidFile(p, 0), linux.O_CLOEXEC)
	if e != 0 {
		return e
	}
	if e := t.Out32(out, uint32(fd)); e != 0 {
		files.Of(t).FDs.Close(t.Kernel, int(fd))
		return e
	}
	return 0
}
