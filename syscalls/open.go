package syscalls

import "github.com/cgemu/cgemu/emu"

// openAt is open(2) in all its forms.
func (t *Thread) openAt(dirfd int, name emu.Addr, flags int, mode uint32) (uint64, Errno) {
	// Linux refuses these since 6.4, and temporary files that cannot be written.
	const tmpfile = oTMPFILE &^ oDIRECTORY
	if flags&oPATH == 0 && (flags&(oDIRECTORY|oCREAT) == oDIRECTORY|oCREAT ||
		flags&tmpfile != 0 && (flags&oTMPFILE != oTMPFILE || flags&oACCMODE == oRDONLY)) {
		return 0, EINVAL
	}
	s, e := t.path(name)
	if e == 0 && s == "" {
		e = ENOENT
	}
	if e == 0 {
		e = t.reserve()
	}
	if e != 0 {
		return 0, e
	}
	flags &= openFlags64 // what has no meaning is forgotten
	if flags&oPATH != 0 {
		flags &= oPATH | oDIRECTORY | oNOFOLLOW | oCLOEXEC
	}
	if flags&oCREAT == 0 && flags&oTMPFILE != oTMPFILE {
		mode = 0
	}
	follow := flags&oNOFOLLOW == 0 && flags&(oCREAT|oEXCL) != oCREAT|oEXCL
	l, e := t.find(dirfd, s, follow, changing(flags))
	if e != 0 {
		return 0, e
	}
	return t.openFound(l, flags, mode&0o7777)
}

// openFound opens a location and gives it a descriptor.
func (t *Thread) openFound(l location, flags int, mode uint32) (uint64, Errno) {
	if flags&(oSYNC&^oDSYNC) != 0 {
		flags |= oDSYNC
	}
	f, e := t.open(l, flags, mode)
	if e != 0 {
		return 0, e
	}
	if flags&oDIRECT != 0 && !isRegular(f) {
		f.close(t.k)
		return 0, EINVAL
	}
	return t.install(f, flags)
}

// open opens a location.
func (t *Thread) open(l location, flags int, mode uint32) (file, Errno) {
	if l.node != nil {
		return l.node.openFile(t, l.guest, flags|oLARGEFILE)
	}
	onHost, e := t.mayOpen(l, flags)
	if e != 0 {
		return nil, e
	}
	if flags&oPATH == 0 {
		flags |= oLARGEFILE
	}
	var was hostStat
	there := Errno(0)
	if flags&(oCREAT|oTRUNC) != 0 || flags&oACCMODE != oRDONLY {
		was, there = hostStatAt(l.place, true)
	}
	// The host must not wait for the other end of a FIFO: another of our processes may open it.
	fd, e := hostOpen(l.place, onHost|oNONBLOCK, mode, t.umask)
	if e == ENXIO && flags&(oACCMODE|oNONBLOCK) == oWRONLY && isFIFO(l.place) {
		return nil, t.awaitReader(l, flags)
	}
	if e != 0 {
		return nil, e
	}
	h, e := t.k.newHostFile(fd, flags, "")
	if e != 0 {
		return nil, e
	}
	h.private, h.own, h.nowait = l.private, l.private, h.mode&sIFMT == sIFIFO
	if flags&(oNONBLOCK|oPATH) == 0 && !h.isRegular() && !h.isDir() && h.mode&sIFMT != sIFIFO {
		fd.setBlocking()
	}
	if h.dev == t.k.inodes.procDev || h.dev == t.k.inodes.sysDev {
		if path, ok := fd.onPseudoFS(); ok && h.mode&sIFMT != sIFLNK {
			fd.close()
			v, e := t.relocate(path)
			if e == 0 && v.node == nil {
				e = ENOENT
			}
			if e != 0 {
				return nil, e
			}
			return v.node.openFile(t, v.guest, flags)
		}
	}
	t.opened(l, h, flags, was, there == ENOENT)
	if t.k.mustAwait(h, flags) {
		return nil, t.awaitWriter(h, flags)
	}
	if name := deviceName(h.mode, h.rdev); name != "" {
		fd.close()
		return devNodes[name].openFile(t, "/dev/"+name, flags)
	}
	return h, 0
}

// sysOpen implements open(2).
func sysOpen(t *Thread, a Args) (uint64, Errno) {
	return t.openAt(atFDCWD, a.Addr(0), a.Int(1), a.U32(2))
}

// sysOpenat implements openat(2).
func sysOpenat(t *Thread, a Args) (uint64, Errno) {
	return t.openAt(a.Int(0), a.Addr(1), a.Int(2), a.U32(3))
}

// sysCreat implements creat(2).
func sysCreat(t *Thread, a Args) (uint64, Errno) {
	return t.openAt(atFDCWD, a.Addr(0), oCREAT|oWRONLY|oTRUNC, a.U32(1))
}

// sysClose implements close(2).
func sysClose(t *Thread, a Args) (uint64, Errno) { return 0, t.fds.close(t.k, a.Int(0)) }

// Flags of close_range(2).
const (
	closeRangeUnshare = 2
	closeRangeCloexec = 4
)

// sysCloseRange implements close_range(2).
func sysCloseRange(t *Thread, a Args) (uint64, Errno) {
	first, last, flags := uint64(a.U32(0)), uint64(a.U32(1)), a.U32(2)
	if first > last || flags&^(closeRangeUnshare|closeRangeCloexec) != 0 {
		return 0, EINVAL
	}
	if flags&closeRangeUnshare != 0 {
		t.fds = t.fds.own()
	}
	for _, fd := range t.fds.open() {
		if uint64(fd) < first || uint64(fd) > last {
			continue
		}
		if flags&closeRangeCloexec != 0 {
			t.fds.fds[fd].cloexec = true
		} else {
			t.fds.close(t.k, fd)
		}
	}
	return 0, 0
}

// sysDup implements dup(2).
func sysDup(t *Thread, a Args) (uint64, Errno) {
	f, e := t.file(a.Int(0))
	if e != 0 {
		return 0, e
	}
	fd, e := t.addFD(f, 0, false)
	return uint64(fd), e
}

// sysDup2 implements dup2(2).
func sysDup2(t *Thread, a Args) (uint64, Errno) {
	old, fd := a.Int(0), a.Int(1)
	if _, e := t.file(old); e != 0 {
		return 0, e
	}
	if old == fd {
		return uint64(fd), 0
	}
	return t.dupTo(old, fd, false)
}

// sysDup3 implements dup3(2).
func sysDup3(t *Thread, a Args) (uint64, Errno) {
	old, fd, flags := a.Int(0), a.Int(1), a.Int(2)
	if flags&^oCLOEXEC != 0 || old == fd {
		return 0, EINVAL
	}
	return t.dupTo(old, fd, flags&oCLOEXEC != 0)
}

func (t *Thread) dupTo(old, fd int, cloexec bool) (uint64, Errno) {
	if fd < 0 || uint64(fd) >= t.p.limits[rlimitNofile].cur {
		return 0, EBADF
	}
	if t.fds.reserves(fd) {
		return 0, EBUSY
	}
	f, e := t.file(old)
	if e != 0 {
		return 0, e
	}
	f.base().refs++ // in case fd is its last descriptor
	t.fds.close(t.k, fd)
	f.base().refs--
	t.fds.set(fd, f, cloexec)
	return uint64(fd), 0
}

// Commands of fcntl(2).
const (
	fDupFD        = 0
	fGetFD        = 1
	fSetFD        = 2
	fGetFL        = 3
	fSetFL        = 4
	fGetLk        = 5
	fSetLk        = 6
	fSetLkW       = 7
	fSetOwn       = 8
	fGetOwn       = 9
	fSetSig       = 10
	fGetSig       = 11
	fSetOwnEx     = 15
	fGetOwnEx     = 16
	fGetOwnerIDs  = 17
	fOfdGetLk     = 36
	fOfdSetLk     = 37
	fOfdSetLkW    = 38
	fSetLease     = 1024
	fGetLease     = 1025
	fDupFDCloexec = 1030
	fSetPipeSz    = 1031
	fGetPipeSz    = 1032
	fAddSeals     = 1033
	fGetSeals     = 1034

	fdCloexec = 1
	fUnlck    = 2
)

// sysFcntl implements fcntl(2).
func sysFcntl(t *Thread, a Args) (uint64, Errno) {
	fd, cmd, arg := a.Int(0), a.Int(1), a.Uint(2)
	f, e := t.file(fd)
	if e != 0 {
		return 0, e
	}
	b := f.base()
	switch cmd {
	case fDupFD, fDupFDCloexec:
		if arg = uint64(a.U32(2)); arg >= t.p.limits[rlimitNofile].cur {
			return 0, EINVAL
		}
		n, e := t.addFD(f, int(arg), cmd == fDupFDCloexec)
		return uint64(n), e
	case fGetFD:
		if t.fds.fds[fd].cloexec {
			return fdCloexec, 0
		}
		return 0, 0
	case fSetFD:
		t.fds.fds[fd].cloexec = arg&fdCloexec != 0
		return 0, 0
	case fGetFL:
		return uint64(b.flags), 0
	}
	if b.flags&oPATH != 0 {
		return 0, EBADF
	}
	switch cmd {
	case fSetFL:
		if _, pipe := f.(*pipeFile); arg&oDIRECT != 0 && !pipe && !isRegular(f) {
			return 0, EINVAL
		}
		if arg&oNOATIME&^uint64(b.flags) != 0 && !t.owns(f) {
			return 0, EPERM
		}
		t.setAsync(f, fd, arg&oASYNC != 0)
		return 0, f.setFlags(b.flags&^settable | int(arg)&settable)
	case fSetPipeSz, fGetPipeSz:
		return pipeSize(f, cmd, arg)
	case fAddSeals, fGetSeals:
		if cmd == fAddSeals && !b.writable() {
			return 0, EPERM
		}
		h, ok := f.(*hostFile)
		if !ok || !h.own {
			return 0, EINVAL
		}
		return h.fd.fcntl(cmd, arg)
	case fGetOwnerIDs:
		// Whoever set the owner is the guest's user.
		var ids pack
		ids.u32(t.k.uid * boolean(b.owner.id != 0))
		ids.u32(le32(ids))
		return 0, t.copyOut(emu.Addr(arg), ids)
	case fSetOwn, fGetOwn, fSetOwnEx, fGetOwnEx:
		return t.fcntlOwner(b, cmd, arg)
	case fGetSig:
		return b.owner.signal, 0
	case fSetSig:
		if a.U32(2) > sigMax {
			return 0, EINVAL
		}
		b.owner.signal = uint64(a.U32(2))
		return 0, 0
	case fSetLease:
		// Nobody gets a lease: it is as if others always had the file open.
		switch {
		case a.U32(2) <= fUnlck && !t.owns(f):
			return 0, EACCES
		case !isRegular(f) || a.U32(2) > fUnlck:
			return 0, EINVAL
		}
		return 0, EAGAIN
	}
	return t.lock(f, cmd, emu.Addr(arg))
}

// What flock(2) takes besides LOCK_SH, LOCK_EX and LOCK_UN, and how long the host's locks are waited for at a time.
const (
	lockNB   = 4
	lockMand = 32
	lockWait = 1_000_000
)

// sysFlock implements flock(2), with the host's locks.
func sysFlock(t *Thread, a Args) (uint64, Errno) {
	switch op := a.U32(1); {
	case op&lockMand != 0:
		return 0, 0 // Linux has had no mandatory locks since 5.15
	case op&^lockNB != 1 && op&^lockNB != 2 && op&^lockNB != 8:
		return 0, EINVAL
	}
	f, e := t.openFile(a.Int(0))
	if e != 0 {
		return 0, e
	}
	h, ok := f.(*hostFile)
	if !ok {
		return 0, 0
	}
	return t.flock(h, a.Int(1))
}

func (t *Thread) flock(h *hostFile, op int) (uint64, Errno) {
	e := h.fd.flock(op | lockNB)
	if e == EAGAIN && op&lockNB == 0 {
		// The holder may be one of our own threads, so the host must not wait for it.
		if t.call.again {
			hostPollWait(nil, lockWait)
		}
		w := wait{files: []file{h}, deadline: t.k.after(lockWait)}
		return t.block(w, func() (uint64, Errno) { return t.flock(h, op) })
	}
	return 0, e
}

// sysUmask implements umask(2).
func sysUmask(t *Thread, a Args) (uint64, Errno) {
	old := t.umask
	t.umask = a.U32(0) & 0o777
	return uint64(old), 0
}

// Flags of memfd_create(2).
const (
	mfdCloexec = 1
	mfdSealing = 2
	mfdNoexec  = 8
	mfdExec    = 16
)

// sysMemfdCreate implements memfd_create(2).
func sysMemfdCreate(t *Thread, a Args) (uint64, Errno) {
	flags := a.U32(1)
	if flags&^(mfdCloexec|mfdSealing|mfdNoexec|mfdExec) != 0 || flags&(mfdNoexec|mfdExec) == mfdNoexec|mfdExec {
		return 0, EINVAL
	}
	name, ok := t.p.mem.ReadString(a.Addr(0), 250)
	if !ok {
		return 0, EFAULT
	}
	if len(name) >= 250 {
		return 0, EINVAL
	}
	fd, e := hostMemfd(name, flags&^mfdCloexec)
	if e != 0 {
		return 0, e
	}
	f, e := t.k.newHostFile(fd, oRDWR|oLARGEFILE, "/memfd:"+name+" (deleted)")
	if e != 0 {
		return 0, e
	}
	f.own = true
	t.k.touch(f.ino)
	open := 0
	if flags&mfdCloexec != 0 {
		open = oCLOEXEC
	}
	return t.install(f, open)
}
