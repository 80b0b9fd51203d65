package syscalls

import "github.com/cgemu/cgemu/syscalls/internal/linux"

// Sizes of control messages (cmsg(3)).
const (
	cmsgHeader = 16 // struct cmsghdr
	// maxControl is how much of them one call takes (net.core.optmem_max).
	maxControl = 128 << 10
)

// A controlMessage is what comes along with a message.
type controlMessage struct {
	level, typ uint32
	data       []byte
}

func cmsgAlign(n int) int { return (n + 7) &^ 7 }

// sendControl adds h's control messages to m.
func (t *Thread) sendControl(s socket, m *outMessage, h msghdr) linux.Errno {
	if h.controlLen() > maxControl {
		return linux.ENOBUFS
	}
	b, e := t.copyIn(h.control(), int(h.controlLen()))
	if e != 0 {
		return e
	}
	for len(b) >= cmsgHeader {
		n := le64(b)
		if n < cmsgHeader || n > uint64(len(b)) {
			return linux.EINVAL
		}
		c := controlMessage{le32(b[8:]), le32(b[12:]), b[cmsgHeader:n]}
		if s.sock().family == linux.AF_UNIX && c.level == linux.SOL_SOCKET {
			if e := t.sendUnixControl(m, c); e != 0 {
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

func (t *Thread) sendUnixControl(m *outMessage, c controlMessage) linux.Errno {
	switch c.typ {
	case linux.SCM_RIGHTS:
		if len(c.data)/4+len(m.files) > linux.SCM_MAX_FD {
			return linux.EINVAL
		}
		for b := c.data; len(b) >= 4; b = b[4:] {
			f, e := t.file(int(int32(le32(b))))
			if e != 0 {
				return e
			}
			m.files = append(m.files, f)
			if _, ok := f.(*unixSocket); ok {
				netOf(t.k).unix.passed = true
			}
		}
		return 0
	case linux.SCM_CREDENTIALS:
		if len(c.data) != 12 {
			return linux.EINVAL
		}
		cred := credential{le32(c.data), le32(c.data[4:]), le32(c.data[8:])}
		if cred != m.cred {
			return linux.EPERM
		}
		m.credSet = true
		return 0
	}
	return linux.EINVAL
}

// receiveControl gives m's control messages to the caller, whose message header is h, and
// returns how much of the room there it took.
func (t *Thread) receiveControl(s socket, m *inMessage, h msghdr) (uint64, linux.Errno) {
	defer func() { t.dropFiles(m.files) }()
	room := h.controlLen()
	if h.control() == 0 {
		room = 0
	}
	var out pack
	put := func(c controlMessage) {
		n := min(uint64(cmsgHeader+len(c.data)), room-uint64(len(out)))
		if n < cmsgHeader {
			m.out |= linux.MSG_CTRUNC
			return
		}
		if n < uint64(cmsgHeader+len(c.data)) {
			m.out |= linux.MSG_CTRUNC
		}
		out.u64(n)
		out.u32(c.level)
		out.u32(c.typ)
		out = append(out, c.data[:n-cmsgHeader]...)
		out.zero(int(min(uint64(cmsgAlign(len(out))), room)) - len(out))
	}
	for _, c := range m.control {
		put(c)
	}
	if s.sock().family == linux.AF_UNIX && s.sock().opts.passCred {
		put(controlMessage{linux.SOL_SOCKET, linux.SCM_CREDENTIALS, m.cred.encode()})
	}
	if len(m.files) > 0 {
		var fds pack
		left := int64(room) - int64(len(out)) - cmsgHeader
		for ; left >= 4 && len(m.files) > 0; left -= 4 {
			fd, e := t.addFD(m.files[0], 0, m.flags&linux.MSG_CMSG_CLOEXEC != 0)
			if e != 0 {
				break
			}
			m.files[0].base().refs--
			m.files = m.files[1:]
			fds.u32(uint32(fd))
		}
		if len(m.files) > 0 {
			m.out |= linux.MSG_CTRUNC
		}
		if len(fds) > 0 {
			put(controlMessage{linux.SOL_SOCKET, linux.SCM_RIGHTS, fds})
		}
	}
	return uint64(len(out)), t.copyOut(h.control(), out)
}

// dropFiles lets go of descriptors that came along and were not wanted.
func (t *Thread) dropFiles(unwanted []file) {
	for _, f := range unwanted {
		release(t.k, f)
	}
}
