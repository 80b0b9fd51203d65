package syscalls

import "github.com/cgemu/cgemu/emu"

// Requests of ioctl(2) (include/uapi/asm-generic/ioctls.h).
const (
	tcGets     = 0x5401
	tcSets     = 0x5402
	tcSetsW    = 0x5403
	tcSetsF    = 0x5404
	tcGetA     = 0x5405
	tcSetA     = 0x5406
	tcSetAW    = 0x5407
	tcSetAF    = 0x5408
	tcSBrk     = 0x5409
	tcXonc     = 0x540a
	tcSBrkP    = 0x5425
	tcFlsh     = 0x540b
	tiocSctty  = 0x540e
	tiocGPgrp  = 0x540f
	tiocSPgrp  = 0x5410
	tiocOutQ   = 0x5411
	tiocGWinsz = 0x5413
	tiocSWinsz = 0x5414
	fioNRead   = 0x541b
	fioNbio    = 0x5421
	tiocNotty  = 0x5422
	tiocGetD   = 0x5424
	tiocGSid   = 0x5429
	fioNClex   = 0x5450
	fioClex    = 0x5451
	fioAsync   = 0x5452
	fioSetOwn  = 0x8901
	fioGetOwn  = 0x8903
	siocSPgrp  = 0x8902
	siocGPgrp  = 0x8904
	tiocGLck   = 0x5456
	tiocSLck   = 0x5457
	fiClone    = 0x40049409
	blkGetSize = 0x1260
)

const (
	termiosSize = 36 // struct termios as the kernel has it
	termioSize  = 18 // struct termio, of System V
	winsizeSize = 8
)

// sysIoctl implements ioctl(2): terminals, and what concerns every descriptor.
func sysIoctl(t *Thread, a Args) (uint64, Errno) {
	fd, req, arg := a.Int(0), a.U32(1), a.Addr(2)
	f, e := t.file(fd)
	if e != 0 {
		return 0, e
	}
	b := f.base()
	if b.flags&oPATH != 0 {
		return 0, EBADF
	}
	const fiBmap, fiGetBsz = 1, 2
	switch req {
	case fiBmap:
		if isRegular(f) {
			return 0, EPERM // for the superuser
		}
	case fiGetBsz:
		st, e := f.stat(t)
		if e != 0 {
			return 0, e
		}
		return 0, t.out32(arg, blockSize(st.dev))
	case fioClex:
		t.fds.fds[fd].cloexec = true
		return 0, 0
	case fioNClex:
		t.fds.fds[fd].cloexec = false
		return 0, 0
	case fioNbio:
		on, e := t.in32(arg)
		if e != 0 {
			return 0, e
		}
		b.flags &^= oNONBLOCK
		if on != 0 {
			b.flags |= oNONBLOCK
		}
		return 0, 0
	case fioAsync:
		on, e := t.in32(arg)
		if e == 0 && !t.setAsync(f, fd, on != 0) {
			e = ENOTTY
		}
		return 0, e
	case fioSetOwn, fioGetOwn, siocSPgrp, siocGPgrp:
		if _, ok := f.(socket); ok {
			return t.ownerIoctl(b, req, arg)
		}
	}
	return f.ioctl(t, req, arg)
}

// terminal answers the requests that a host file may understand.
func (f *hostFile) terminal(t *Thread, req uint32, arg emu.Addr) (uint64, Errno) {
	if f.isRegular() || f.isDir() {
		if req == fioNRead && f.isRegular() {
			pos, _ := f.fd.seek(0, seekCur)
			st, e := f.fd.stat()
			if e != 0 {
				return 0, e
			}
			return 0, t.out32(arg, uint32(max(st.size-pos, 0)))
		}
		return 0, ENOTTY
	}
	if f.console {
		if e, ok := t.jobRequest(&t.k.console, false, req, arg); ok {
			return 0, e
		}
	}
	switch req {
	case tcGets:
		return f.ioctlOut(t, req, arg, termiosSize)
	case tcSets, tcSetsW, tcSetsF:
		if f.console {
			if e := t.mayUse(&t.k.console, sigTTOU); e != 0 {
				return 0, e
			}
		}
		return f.ioctlIn(t, req, arg, termiosSize)
	case tiocGWinsz:
		return f.ioctlOut(t, req, arg, winsizeSize)
	case tiocSWinsz:
		return f.ioctlIn(t, req, arg, winsizeSize)
	case fioNRead, tiocOutQ:
		return f.ioctlOut(t, req, arg, 4)
	case tcSBrk, tcSBrkP, tcXonc, tcFlsh:
		if f.console {
			return 0, 0
		}
	}
	return 0, ENOTTY
}

// ioctlOut passes a request whose answer has n bytes.
func (f *hostFile) ioctlOut(t *Thread, req uint32, arg emu.Addr, n int) (uint64, Errno) {
	b := make([]byte, n)
	if e := f.fd.ioctl(req, b); e != 0 {
		return 0, e
	}
	return 0, t.copyOut(arg, b)
}

// ioctlIn passes a request whose argument has n bytes.
func (f *hostFile) ioctlIn(t *Thread, req uint32, arg emu.Addr, n int) (uint64, Errno) {
	b, e := t.copyIn(arg, n)
	if e != 0 {
		return 0, e
	}
	return 0, f.fd.ioctl(req, b)
}
