package syscalls

import "github.com/cgemu/cgemu/emu"

// Constants of socket(2) and its kin.
const (
	afUnix      = 1
	sockStream  = 1
	sockTypes   = 0xf
	solSocket   = 1
	soType      = 3
	soError     = 4
	soSndbuf    = 7
	soRcvbuf    = 8
	soAcceptCon = 30
	soProtocol  = 38
	soDomain    = 39

	msgPeek     = 0x02
	msgDontwait = 0x40
	msgNosignal = 0x4000

	sockBuf = 212992 // net.core.wmem_default
)

// A socketFile is one of a pair of connected stream sockets: two pipes.
type socketFile struct {
	fileBase
	in, out *pipeFile
	ino     uint64
}

// sysSocketpair implements socketpair(2) for AF_UNIX streams.
func sysSocketpair(t *Thread, a Args) (uint64, Errno) {
	domain, typ, proto := a.Int(0), a.Int(1), a.Int(2)
	switch {
	case domain != afUnix:
		return 0, EAFNOSUPPORT
	case typ&^(sockTypes|oNONBLOCK|oCLOEXEC) != 0:
		return 0, EINVAL
	case typ&sockTypes != sockStream || proto != 0 && proto != afUnix:
		return 0, EPROTONOSUPPORT
	}
	r1, w1 := t.k.newPipe(0)
	r2, w2 := t.k.newPipe(0)
	r1.pipe.capacity, r2.pipe.capacity = sockBuf, sockBuf
	var fds pack
	for _, ends := range [2][2]*pipeFile{{r1, w2}, {r2, w1}} {
		ino := ends[0].pipe.ino
		f := &socketFile{
			fileBase: fileBase{flags: oRDWR | typ&oNONBLOCK, path: "socket:[" + itoa(int64(ino)) + "]"},
			in:       ends[0], out: ends[1], ino: ino,
		}
		fd, e := t.install(f, typ&oCLOEXEC)
		if e != 0 {
			return 0, e
		}
		fds.u32(uint32(fd))
	}
	return 0, t.copyOut(a.Addr(3), fds)
}

func (f *socketFile) read(t *Thread, v []iovec, off int64) (uint64, Errno) {
	return f.in.read(t, v, off)
}
func (f *socketFile) readRaw(t *Thread, b []byte, off int64) (int, Errno) {
	return f.in.readRaw(t, b, off)
}

func (f *socketFile) write(t *Thread, v []iovec, off int64) (uint64, Errno) {
	return f.out.write(t, v, off)
}

func (f *socketFile) writeRaw(t *Thread, b []byte, off int64) (int, Errno) {
	return f.out.writeRaw(t, b, off)
}

func (f *socketFile) poll(t *Thread) uint32 {
	in, out := f.in.poll(t), f.out.poll(t)
	ev := in&(pollIN|pollRDN) | out&(pollOUT|pollWRN)
	if in&pollHUP != 0 {
		ev |= pollIN | pollRDN | pollRDH
		if out&pollERR != 0 {
			ev |= pollHUP
		}
	}
	return ev
}

func (f *socketFile) stat(t *Thread) (stat, Errno) {
	s, _ := f.fileBase.stat(t)
	s.ino, s.mode = f.ino, sIFSOCK|0o777
	return s, 0
}

func (f *socketFile) ioctl(t *Thread, req uint32, arg emu.Addr) (uint64, Errno) {
	return f.in.ioctl(t, req, arg)
}

func (f *socketFile) close(k *Kernel) {
	f.shut(true, true)
}

// shut closes the ends that are still open.
func (f *socketFile) shut(in, out bool) {
	if in && f.in.refs == 0 {
		f.in.refs = -1
		f.in.pipe.readers--
	}
	if out && f.out.refs == 0 {
		f.out.refs = -1
		f.out.pipe.writers--
	}
}

// socket returns the socket behind fd.
func (t *Thread) socket(fd int) (*socketFile, Errno) {
	f, e := t.file(fd)
	if e != 0 {
		return nil, e
	}
	s, ok := f.(*socketFile)
	if !ok {
		return nil, ENOTSOCK
	}
	return s, 0
}

// sysShutdown implements shutdown(2).
func sysShutdown(t *Thread, a Args) (uint64, Errno) {
	s, e := t.socket(a.Int(0))
	if e != 0 {
		return 0, e
	}
	how := a.U32(1)
	if how > 2 {
		return 0, EINVAL
	}
	s.shut(how != 1, how != 0)
	return 0, 0
}

func (t *Thread) transmit(s *socketFile, v []iovec, flags uint32) (uint64, Errno) {
	ignored := t.p.signals[sigPIPE]
	if flags&msgNosignal != 0 {
		t.p.signals[sigPIPE].handler = sigIgn
		defer func() { t.p.signals[sigPIPE] = ignored }()
	}
	if flags&msgDontwait != 0 {
		return s.write(t, v, -1)
	}
	return t.writeFile(s, v, -1)
}

func (t *Thread) receive(s *socketFile, v []iovec, flags uint32) (uint64, Errno) {
	if flags&msgPeek != 0 && len(s.in.pipe.data) > 0 {
		n, e := t.scatter(v, s.in.pipe.data[:min(total(v), uint64(len(s.in.pipe.data)))])
		return uint64(n), e
	}
	if flags&msgDontwait != 0 {
		return s.read(t, v, -1)
	}
	return t.readFile(s, v, -1)
}

// sysSendto implements sendto(2).
func sysSendto(t *Thread, a Args) (uint64, Errno) {
	s, e := t.socket(a.Int(0))
	if e != 0 {
		return 0, e
	}
	if a.Addr(4) != 0 {
		return 0, EISCONN
	}
	return t.transmit(s, one(a.Addr(1), a.Uint(2)), a.U32(3))
}

// sysRecvfrom implements recvfrom(2).
func sysRecvfrom(t *Thread, a Args) (uint64, Errno) {
	s, e := t.socket(a.Int(0))
	if e != 0 {
		return 0, e
	}
	n, e := t.receive(s, one(a.Addr(1), a.Uint(2)), a.U32(3))
	if e == 0 && a.Addr(4) != 0 {
		e = t.out32(a.Addr(5), 0)
	}
	return n, e
}

// message reads a struct msghdr.
func (t *Thread) message(at emu.Addr) ([]byte, []iovec, Errno) {
	b, e := t.copyIn(at, 56)
	if e != 0 {
		return nil, nil, e
	}
	v, e := t.iovecs(emu.Addr(le64(b[16:])), le64(b[24:]))
	return b, v, e
}

// sysSendmsg implements sendmsg(2).
func sysSendmsg(t *Thread, a Args) (uint64, Errno) {
	s, e := t.socket(a.Int(0))
	if e != 0 {
		return 0, e
	}
	b, v, e := t.message(a.Addr(1))
	switch {
	case e != 0:
		return 0, e
	case le64(b[40:]) != 0:
		return 0, EINVAL // control messages
	}
	return t.transmit(s, v, a.U32(2))
}

// sysRecvmsg implements recvmsg(2).
func sysRecvmsg(t *Thread, a Args) (uint64, Errno) {
	s, e := t.socket(a.Int(0))
	if e != 0 {
		return 0, e
	}
	b, v, e := t.message(a.Addr(1))
	if e != 0 {
		return 0, e
	}
	n, e := t.receive(s, v, a.U32(2))
	if e != 0 {
		return n, e
	}
	put32(b[8:], 0)  // msg_namelen
	put64(b[40:], 0) // msg_controllen
	put32(b[48:], 0) // msg_flags
	return n, t.copyOut(a.Addr(1), b)
}

// sysGetsockopt implements getsockopt(2).
func sysGetsockopt(t *Thread, a Args) (uint64, Errno) {
	if _, e := t.socket(a.Int(0)); e != 0 {
		return 0, e
	}
	if a.Int(1) != solSocket {
		return 0, EOPNOTSUPP
	}
	values := map[int]uint32{soType: sockStream, soError: 0, soSndbuf: sockBuf, soRcvbuf: sockBuf, soAcceptCon: 0, soProtocol: 0, soDomain: afUnix}
	x, ok := values[a.Int(2)]
	if !ok {
		return 0, ENOPROTOOPT
	}
	n, e := t.in32(a.Addr(4))
	if e != 0 {
		return 0, e
	}
	if int32(n) < 0 {
		return 0, EINVAL
	}
	var b pack
	b.u32(x)
	b = b[:min(n, 4)]
	if e := t.copyOut(a.Addr(3), b); e != 0 {
		return 0, e
	}
	return 0, t.out32(a.Addr(4), uint32(len(b)))
}

// sysSetsockopt implements setsockopt(2): options are accepted.
func sysSetsockopt(t *Thread, a Args) (uint64, Errno) {
	_, e := t.socket(a.Int(0))
	return 0, e
}

// sysGetsockname implements getsockname(2) and getpeername(2): only the family.
func sysGetsockname(t *Thread, a Args) (uint64, Errno) {
	if _, e := t.socket(a.Int(0)); e != 0 {
		return 0, e
	}
	n, e := t.in32(a.Addr(2))
	if e != 0 {
		return 0, e
	}
	if int32(n) < 0 {
		return 0, EINVAL
	}
	var b pack
	b.u16(afUnix)
	if e := t.copyOut(a.Addr(1), b[:min(n, 2)]); e != 0 {
		return 0, e
	}
	return 0, t.out32(a.Addr(2), 2)
}
