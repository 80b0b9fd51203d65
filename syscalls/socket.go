package syscalls

import (
	"bytes"

	"github.com/cgemu/cgemu/emu"
)

// A loneSocket is a socket of AF_UNIX that is connected to nothing, and stays so: nobody
// listens in the guest's world. The C library makes one to ask a name service cache that is not there.
type loneSocket struct {
	fileBase
	ino uint64
}

// sysSocket implements socket(2) for AF_UNIX streams.
func sysSocket(t *Thread, a Args) (uint64, Errno) {
	domain, typ, proto := a.Int(0), a.Int(1), a.Int(2)
	switch {
	case typ&^(sockTypes|oNONBLOCK|oCLOEXEC) != 0:
		return 0, EINVAL
	case domain != afUnix:
		return 0, EAFNOSUPPORT
	case typ&sockTypes != sockStream || proto != 0 && proto != afUnix:
		return 0, EPROTONOSUPPORT
	}
	t.k.nextPipe++
	ino := t.k.inodes.virtual("socket:" + itoa(int64(t.k.nextPipe)))
	return t.install(&loneSocket{
		fileBase: fileBase{flags: oRDWR | typ&oNONBLOCK, path: "socket:[" + itoa(int64(ino)) + "]"},
		ino:      ino,
	}, typ&oCLOEXEC)
}

// sysConnect implements connect(2): whatever is at the path, nobody listens there.
func sysConnect(t *Thread, a Args) (uint64, Errno) {
	f, e := t.file(a.Int(0))
	if e != 0 {
		return 0, e
	}
	if _, ok := f.(*socketFile); ok {
		return 0, EISCONN
	}
	if _, ok := f.(*loneSocket); !ok {
		return 0, ENOTSOCK
	}
	addr, n := a.Addr(1), a.Int(2)
	const family, maxLen = 2, 110 // of struct sockaddr_un
	if n <= family || n > maxLen {
		return 0, EINVAL
	}
	b, e := t.copyIn(addr, n)
	if e != 0 {
		return 0, e
	}
	if b[0] != afUnix || b[1] != 0 {
		return 0, EINVAL
	}
	if b[family] == 0 {
		return 0, ECONNREFUSED // an abstract name
	}
	path, _, _ := bytes.Cut(b[family:], []byte{0})
	l, e := t.locate(atFDCWD, string(path), true)
	if e != 0 {
		return 0, e
	}
	if _, e := t.statOf(l, true); e != 0 {
		return 0, e
	}
	return 0, ECONNREFUSED
}

func (f *loneSocket) poll(*Thread) uint32 { return pollOUT | pollWRN | pollHUP }

func (f *loneSocket) write(*Thread, []iovec, int64) (uint64, Errno) { return 0, ENOTCONN }

func (f *loneSocket) ioctl(*Thread, uint32, emu.Addr) (uint64, Errno) { return 0, ENOTTY }

func (f *loneSocket) stat(t *Thread) (stat, Errno) {
	s, _ := f.fileBase.stat(t)
	s.ino, s.mode = f.ino, sIFSOCK|0o777
	return s, 0
}
