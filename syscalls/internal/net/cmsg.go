package net

import (
	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
)

// Sizes of control messages (cmsg(3)).
const (
	// CmsgHeader is the size of struct cmsghdr.
	CmsgHeader = 16
	// maxControl bounds the control messages of one call, in bytes (net.core.optmem_max).
	maxControl = 128 << 10
)

// A controlMessage comes along with a message: a struct cmsghdr with its data.
type controlMessage struct {
	level, typ uint32
	data       []byte
}

// cmsgAlign is n rounded up to where the next control message begins.
func cmsgAlign(n int) int { return (n + 7) &^ 7 }

// sendControl reads the control messages of header h and adds what they say to m.
func sendControl(t *task.Thread, s Socket, m *OutMessage, h msghdr) linux.Errno {
	if h.controlLen() > maxControl {
		return linux.ENOBUFS
	}
	b, e := t.CopyIn(h.control(), int(h.controlLen()))
	if e != 0 {
		return e
	}
	for len(b) >= CmsgHeader {
		n := linux.Uint64(b)
		if n < CmsgHeader || n > uint64(len(b)) {
			return linux.EINVAL
		}
		c := controlMessage{linux.Uint32(b[8:]), linux.Uint32(b[12:]), b[CmsgHeader:n]}
		if s.Sock().Family == linux.AF_UNIX && c.level == linux.SOL_SOCKET {
			if e := sendUnixControl(t, m, c); e != 0 {
				return e
			}
		}
		if u, ok := s.(*udpSocket); ok && int(c.level) == u.level() {
			if e := m.sendHeaderControl(c); e != 0 {
				return e
			}
		}
		b = b[min(cmsgAlign(int(n)), len(b)):]
	}
	return 0
}

// sendUnixControl adds a control message of AF_UNIX, descriptors or credentials, to m.
func sendUnixControl(t *task.Thread, m *OutMessage, c controlMessage) linux.Errno {
	switch c.typ {
	case linux.SCM_RIGHTS:
		if len(c.data)/4+len(m.files) > linux.SCM_MAX_FD {
			return linux.EINVAL
		}
		for b := c.data; len(b) >= 4; b = b[4:] {
			f, e := files.GetRawFile(t, int(int32(linux.Uint32(b))))
			if e != 0 {
				return e
			}
			m.files = append(m.files, f)
			if _, ok := f.(*UnixSocket); ok {
				StackOf(t.Kernel).Unix.unixSent = true
			}
		}
		return 0
	case linux.SCM_CREDENTIALS:
		if len(c.data) != 12 {
			return linux.EINVAL
		}
		cred := credential{linux.Uint32(c.data), linux.Uint32(c.data[4:]), linux.Uint32(c.data[8:])}
		if cred != m.Cred {
			return linux.EPERM
		}
		m.credSet = true
		return 0
	}
	return linux.EINVAL
}

// receiveControl writes the control messages of m to where the caller's header h says, and returns how many bytes they
// took. Descriptors that do not fit are closed.
func receiveControl(t *task.Thread, s Socket, m *InMessage, h msghdr) (uint64, linux.Errno) {
	defer func() { DropFiles(t, m.Files) }()
	room := h.controlLen()
	if h.control() == 0 {
		room = 0
	}
	var out linux.Pack
	put := func(c controlMessage) {
		n := min(uint64(CmsgHeader+len(c.data)), room-uint64(len(out)))
		if n < CmsgHeader {
			m.out |= linux.MSG_CTRUNC
			return
		}
		if n < uint64(CmsgHeader+len(c.data)) {
			m.out |= linux.MSG_CTRUNC
		}
		out.U64(n)
		out.U32(c.level)
		out.U32(c.typ)
		out = append(out, c.data[:n-CmsgHeader]...)
		out.Zero(int(min(uint64(cmsgAlign(len(out))), room)) - len(out))
	}
	for _, c := range m.control {
		put(c)
	}
	if s.Sock().Family == linux.AF_UNIX && s.Sock().Opts.passCred && !m.bare {
		put(controlMessage{linux.SOL_SOCKET, linux.SCM_CREDENTIALS, m.cred.encode()})
	}
	if len(m.Files) > 0 {
		var fds linux.Pack
		left := int64(room) - int64(len(out)) - CmsgHeader
		for ; left >= 4 && len(m.Files) > 0; left -= 4 {
			fd, e := files.AddFD(t, m.Files[0], 0, m.Flags&linux.MSG_CMSG_CLOEXEC != 0)
			if e != 0 {
				break
			}
			m.Files[0].Base().Refs--
			m.Files = m.Files[1:]
			fds.U32(uint32(fd))
		}
		if len(m.Files) > 0 {
			m.out |= linux.MSG_CTRUNC
		}
		if len(fds) > 0 {
			put(controlMessage{linux.SOL_SOCKET, linux.SCM_RIGHTS, fds})
		}
	}
	return uint64(len(out)), t.CopyOut(h.control(), out)
}

// DropFiles closes descriptors that came along and that nobody takes.
func DropFiles(t *task.Thread, unwanted []files.File) {
	for _, f := range unwanted {
		files.Release(t.Kernel, f)
	}
}
