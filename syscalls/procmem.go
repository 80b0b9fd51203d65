package syscalls

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// transferMemory does process_vm_readv(2), or process_vm_writev(2) for write.
func (t *Thread) transferMemory(a Args, write bool) (uint64, linux.Errno) {
	if a.Uint(5) != 0 {
		return 0, linux.EINVAL
	}
	local, e := t.iovecs(a.Addr(1), a.Uint(2))
	if e != 0 {
		return 0, e
	}
	remote, e := t.iovecs(a.Addr(3), a.Uint(4))
	if e != 0 {
		return 0, e
	}
	if total(local) == 0 || total(remote) == 0 {
		return 0, 0
	}
	p := t.k.process(a.Int(0))
	if p == nil || p.exited {
		return 0, linux.ESRCH
	}
	var done uint64
	for _, x := range remote {
		n := min(x.n, total(local)-done)
		if n == 0 {
			continue
		}
		var got uint64
		if write {
			b, e := t.gather(skip(local, done), n)
			if e != 0 {
				return finishTransfer(done, e)
			}
			got = uint64(p.mem.Write(x.addr, b))
		} else {
			buf := make([]byte, min(n, 64<<10))
			if v := p.mem.VMA(x.addr); v != nil && v.WriteOnly {
				return finishTransfer(done, linux.EFAULT)
			}
			for got < n {
				have := p.mem.Read(x.addr+emu.Addr(got), buf[:min(n-got, uint64(len(buf)))])
				put, _ := t.scatter(skip(local, done+got), buf[:have])
				if got += uint64(put); put == 0 || put < have {
					break
				}
			}
		}
		done += got
		if got < n {
			return finishTransfer(done, linux.EFAULT)
		}
	}
	return done, 0
}

// finishTransfer is what a transfer returns that came to an error after done bytes.
func finishTransfer(done uint64, e linux.Errno) (uint64, linux.Errno) {
	if done > 0 {
		return done, 0
	}
	return 0, e
}

// sysProcessVMReadv implements process_vm_readv(2).
func sysProcessVMReadv(t *Thread, a Args) (uint64, linux.Errno) { return t.transferMemory(a, false) }

// sysProcessVMWritev implements process_vm_writev(2).
func sysProcessVMWritev(t *Thread, a Args) (uint64, linux.Errno) { return t.transferMemory(a, true) }

// sysProcessMadvise implements process_madvise(2): advice that another process may be given has no effect.
func sysProcessMadvise(t *Thread, a Args) (uint64, linux.Errno) {
	const willneed, cold, pageout, collapse = 3, 20, 21, 25
	if a.Uint(4) != 0 {
		return 0, linux.EINVAL
	}
	v, e := t.iovecs(a.Addr(1), a.Uint(2))
	if e != 0 {
		return 0, e
	}
	f, e := t.pidFile(a.Int(0))
	if e != 0 {
		return 0, e
	}
	if f.p.exited {
		return 0, linux.ESRCH
	}
	switch a.Int(3) {
	case willneed, cold, pageout, collapse:
	default:
		return 0, linux.EINVAL
	}
	there := Thread{p: f.p, k: t.k}
	for _, x := range v {
		if !x.addr.PageAligned() {
			return 0, linux.EINVAL
		}
		if e := there.wholeRange(x.addr, x.n); e != 0 {
			return 0, e
		}
	}
	return total(v), 0
}

// sysPidfdGetfd implements pidfd_getfd(2).
func sysPidfdGetfd(t *Thread, a Args) (uint64, linux.Errno) {
	if a.U32(2) != 0 {
		return 0, linux.EINVAL
	}
	p, e := t.pidFile(a.Int(0))
	if e != 0 {
		return 0, e
	}
	if p.p.exited {
		return 0, linux.ESRCH
	}
	f, e := filesOf(p.p.threads[0]).fds.file(a.Int(1))
	if e != 0 {
		return 0, e
	}
	fd, e := t.addFD(f, 0, true)
	return uint64(fd), e
}

// sysPkeyMprotect implements pkey_mprotect(2) of a CPU without protection keys.
func sysPkeyMprotect(t *Thread, a Args) (uint64, linux.Errno) {
	if a.Int(3) != -1 {
		return 0, linux.EINVAL
	}
	return sysMprotect(t, a)
}

// sysPkeyAlloc implements pkey_alloc(2): there are none.
func sysPkeyAlloc(_ *Thread, a Args) (uint64, linux.Errno) {
	if a.Uint(0) != 0 || a.Uint(1)&^3 != 0 {
		return 0, linux.EINVAL
	}
	return 0, linux.ENOSPC
}

// sysFanotifyMark implements fanotify_mark(2): no descriptor is one of fanotify.
func sysFanotifyMark(t *Thread, a Args) (uint64, linux.Errno) {
	if _, e := t.openFile(a.Int(0)); e != 0 {
		return 0, e
	}
	return 0, linux.EINVAL
}

// sysUnshare implements unshare(2) as far as it needs no privilege. What threads share is theirs together as long as there is more
// than one.
func sysUnshare(t *Thread, a Args) (uint64, linux.Errno) {
	const (
		ofProcess = linux.CLONE_VM | linux.CLONE_SIGHAND | linux.CLONE_THREAD
		known     = ofProcess | linux.CLONE_FS | linux.CLONE_FILES | linux.CLONE_SYSVSEM | cloneNamespaces
	)
	flags := a.Uint(0)
	switch {
	case flags&^known != 0, flags&(ofProcess|linux.CLONE_NEWUSER) != 0 && t.p.live() > 1:
		return 0, linux.EINVAL
	case flags&cloneNamespaces != 0:
		return 0, linux.EPERM
	}
	if flags&linux.CLONE_FS != 0 {
		filesOf(t).fsInfo = filesOf(t).fsInfo.own()
	}
	if flags&linux.CLONE_FILES != 0 {
		filesOf(t).fds = filesOf(t).fds.own()
	}
	return 0, 0
}
