package syscalls

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// transferMemory does process_vm_readv(2), or process_vm_writev(2) for write.
func transferMemory(t *task.Thread, a uio.Args, write bool) (uint64, linux.Errno) {
	if a.Uint(5) != 0 {
		return 0, linux.EINVAL
	}
	local, e := t.Iovecs(a.Addr(1), a.Uint(2))
	if e != 0 {
		return 0, e
	}
	remote, e := t.Iovecs(a.Addr(3), a.Uint(4))
	if e != 0 {
		return 0, e
	}
	if uio.Total(local) == 0 || uio.Total(remote) == 0 {
		return 0, 0
	}
	p := t.Kernel.Process(a.Int(0))
	if p == nil || p.Exited {
		return 0, linux.ESRCH
	}
	var done uint64
	for _, x := range remote {
		n := min(x.Len, uio.Total(local)-done)
		if n == 0 {
			continue
		}
		var got uint64
		if write {
			b, e := t.Gather(uio.Skip(local, done), n)
			if e != 0 {
				return finishTransfer(done, e)
			}
			got = uint64(p.Mem.Write(x.Addr, b))
		} else {
			buf := make([]byte, min(n, 64<<10))
			if v := p.Mem.VMA(x.Addr); v != nil && v.WriteOnly {
				return finishTransfer(done, linux.EFAULT)
			}
			for got < n {
				have := p.Mem.Read(x.Addr+emu.Addr(got), buf[:min(n-got, uint64(len(buf)))])
				put, _ := t.Scatter(uio.Skip(local, done+got), buf[:have])
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
func sysProcessVMReadv(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	return transferMemory(t, a, false)
}

// sysProcessVMWritev implements process_vm_writev(2).
func sysProcessVMWritev(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	return transferMemory(t, a, true)
}

// sysProcessMadvise implements process_madvise(2): advice that another process may be given has no effect.
func sysProcessMadvise(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	const willneed, cold, pageout, collapse = 3, 20, 21, 25
	if a.Uint(4) != 0 {
		return 0, linux.EINVAL
	}
	v, e := t.Iovecs(a.Addr(1), a.Uint(2))
	if e != 0 {
		return 0, e
	}
	f, e := getPidFile(t, a.Int(0))
	if e != 0 {
		return 0, e
	}
	if f.Process.Exited {
		return 0, linux.ESRCH
	}
	switch a.Int(3) {
	case willneed, cold, pageout, collapse:
	default:
		return 0, linux.EINVAL
	}
	there := task.Thread{Process: f.Process, Kernel: t.Kernel}
	for _, x := range v {
		if !x.Addr.PageAligned() {
			return 0, linux.EINVAL
		}
		if e := wholeRange(&there, x.Addr, x.Len); e != 0 {
			return 0, e
		}
	}
	return uio.Total(v), 0
}

// sysPidfdGetfd implements pidfd_getfd(2).
func sysPidfdGetfd(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	if a.U32(2) != 0 {
		return 0, linux.EINVAL
	}
	p, e := getPidFile(t, a.Int(0))
	if e != 0 {
		return 0, e
	}
	main := p.Process.Threads[0] // whose files they are
	if main.Dead {
		return 0, linux.ESRCH
	}
	f, e := files.Of(main).FDs.File(a.Int(1))
	if e != 0 {
		return 0, e
	}
	fd, e := files.AddFD(t, f, 0, true)
	return uint64(fd), e
}

// sysPkeyMprotect implements pkey_mprotect(2) of a CPU without protection keys.
func sysPkeyMprotect(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	if a.Int(3) != -1 {
		return 0, linux.EINVAL
	}
	return sysMprotect(t, a)
}

// sysPkeyAlloc implements pkey_alloc(2): there are none.
func sysPkeyAlloc(_ *task.Thread, a uio.Args) (uint64, linux.Errno) {
	if a.Uint(0) != 0 || a.Uint(1)&^3 != 0 {
		return 0, linux.EINVAL
	}
	return 0, linux.ENOSPC
}

// sysFanotifyMark implements fanotify_mark(2): no descriptor is one of fanotify.
func sysFanotifyMark(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	if _, e := files.GetFile(t, a.Int(0)); e != 0 {
		return 0, e
	}
	return 0, linux.EINVAL
}

// sysUnshare implements unshare(2) as far as it needs no privilege. What threads share is theirs together as long as
// there is more than one.
func sysUnshare(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	const (
		ofProcess = linux.CLONE_VM | linux.CLONE_SIGHAND | linux.CLONE_THREAD
		known     = ofProcess | linux.CLONE_FS | linux.CLONE_FILES | linux.CLONE_SYSVSEM | task.CloneNamespaces
	)
	flags := a.Uint(0)
	switch {
	case flags&^known != 0, flags&(ofProcess|linux.CLONE_NEWUSER) != 0 && t.Process.Live() > 1:
		return 0, linux.EINVAL
	case flags&task.CloneNamespaces != 0:
		return 0, linux.EPERM
	}
	if flags&linux.CLONE_FS != 0 {
		files.Of(t).FSInfo = files.Of(t).FSInfo.Unshared()
	}
	if flags&linux.CLONE_FILES != 0 {
		files.Of(t).FDs = files.Of(t).FDs.Unshared()
	}
	if flags&linux.CLONE_SYSVSEM != 0 && t.Process.Live() == 1 {
		t.Kernel.IPC.LeaveUndo(t.Process)
	}
	return 0, 0
}
