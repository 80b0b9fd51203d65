package syscalls

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// A pidFile is a pidfd: readable when its process has ended.
type pidFile struct {
	fileBase
	p *Process
}

func newPidFile(p *Process, flags int) *pidFile {
	return &pidFile{fileBase: fileBase{flags: linux.O_RDWR | flags&linux.O_NONBLOCK, path: "anon_inode:[pidfd]"}, p: p}
}

func (*pidFile) traits() traits { return unreadable | unwritable | positioned | streaming } // since Linux 6.9

func (f *pidFile) poll(*Thread) uint32 {
	if f.p.exited {
		return linux.POLLIN | linux.POLLRDNORM
	}
	return 0
}

func (t *Thread) pidFile(fd int) (*pidFile, linux.Errno) {
	f, e := t.file(fd)
	if e != 0 {
		return nil, e
	}
	pf, ok := f.(*pidFile)
	if !ok {
		return nil, linux.EBADF
	}
	return pf, 0
}

// sysPidfdOpen implements pidfd_open(2).
func sysPidfdOpen(t *Thread, a Args) (uint64, linux.Errno) {
	pid, flags := a.Int(0), a.Int(1)
	if flags&^linux.O_NONBLOCK != 0 || pid <= 0 {
		return 0, linux.EINVAL
	}
	p := t.k.process(pid)
	if p == nil {
		if t.k.findThread(-1, pid) != nil {
			return 0, linux.EINVAL
		}
		return 0, linux.ESRCH
	}
	return t.install(newPidFile(p, flags), linux.O_CLOEXEC)
}

// sysPidfdSendSignal implements pidfd_send_signal(2).
func sysPidfdSendSignal(t *Thread, a Args) (uint64, linux.Errno) {
	sig := a.Int(1)
	const thread, group = 1, 4 // 2, the process, is what a pidfd stands for
	scope := a.U32(3)
	if scope > group || scope&(scope-1) != 0 {
		return 0, linux.EINVAL
	}
	p, e := t.signalled(a.Int(0))
	if e != 0 {
		return 0, e
	}
	s := infoFromProcess(t.p, sig, linux.SI_USER)
	if a.Addr(2) != 0 {
		n, e := t.in32(a.Addr(2))
		if e == 0 && int(int32(n)) != sig {
			e = linux.EINVAL
		}
		if e == 0 {
			s, e = t.userInfo(p.pid, sig, a.Addr(2))
		}
		if e != 0 {
			return 0, e
		}
	}
	switch {
	case sig < 0 || sig > linux.NSIG:
		return 0, linux.EINVAL
	case t.k.process(p.pid) != p:
		return 0, linux.ESRCH
	case sig == 0:
	case scope == group:
		for _, o := range t.k.procs {
			if o.pgid == p.pid {
				o.send(s)
			}
		}
	case scope == thread:
		return 0, p.threads[0].send(s)
	default:
		return 0, p.send(s)
	}
	return 0, 0
}

// signalled returns the process that a descriptor stands for: a pidfd, or a directory /proc/PID.
func (t *Thread) signalled(fd int) (*Process, linux.Errno) {
	f, e := t.openFile(fd)
	if e != 0 {
		return nil, e
	}
	switch f := f.(type) {
	case *pidFile:
		return f.p, 0
	case *virtualDir:
		if f.node.process != nil {
			return f.node.process, 0
		}
	}
	return nil, linux.EBADF
}

// addPidFile gives t's process a descriptor for p, and stores its number at out.
func (t *Thread) addPidFile(p *Process, out emu.Addr) linux.Errno {
	fd, e := t.install(newPidFile(p, 0), linux.O_CLOEXEC)
	if e != 0 {
		return e
	}
	if e := t.out32(out, uint32(fd)); e != 0 {
		filesOf(t).fds.close(t.k, int(fd))
		return e
	}
	return 0
}
