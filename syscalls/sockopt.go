package syscalls

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/net"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// sysGetsockopt implements getsockopt(2).
func sysGetsockopt(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	s, e := net.GetSocket(t, a.Int(0))
	if e != 0 {
		return 0, e
	}
	level, name := a.Int(1), a.Int(2)
	if _, ok := s.(*net.UnixSocket); ok && level != linux.SOL_SOCKET {
		return 0, linux.EOPNOTSUPP
	}
	n, e := t.In32(a.Addr(4))
	if e != 0 {
		return 0, e
	}
	if int32(n) < 0 {
		return 0, linux.EINVAL
	}
	b, e := net.Option(t, s, level, name)
	if e != 0 {
		return 0, e
	}
	b = b[:min(int(n), len(b))]
	if e := t.CopyOut(a.Addr(3), b); e != 0 {
		return 0, e
	}
	return 0, t.Out32(a.Addr(4), uint32(len(b)))
}

// sysSetsockopt implements setsockopt(2).
func sysSetsockopt(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	s, e := net.GetSocket(t, a.Int(0))
	if e != 0 {
		return 0, e
	}
	level, name, at, n := a.Int(1), a.Int(2), a.Addr(3), a.Int(4)
	if n < 0 {
		return 0, linux.EINVAL
	}
	if _, ok := s.(*net.UnixSocket); ok && level != linux.SOL_SOCKET {
		return 0, linux.EOPNOTSUPP
	}
	b := s.Sock()
	if level == linux.SOL_SOCKET {
		switch name {
		case linux.SO_LINGER:
			return 0, net.SetLinger(t, b, at, n)
		case linux.SO_RCVTIMEO:
			return 0, setTimeout(t, &b.Opts.RcvTimeout, at, n)
		case linux.SO_SNDTIMEO:
			return 0, setTimeout(t, &b.Opts.SndTimeout, at, n)
		case linux.SO_BINDTODEVICE:
			return 0, net.BindToDevice(t, b, at, n)
		}
	}
	if n < 4 {
		// "optlen" may be that of a char for the options of IP (net/ipv4/ip_sockglue.c).
		if n == 0 || level != linux.SOL_IP {
			return 0, linux.EINVAL
		}
		x, e := t.CopyIn(at, 1)
		if e != 0 {
			return 0, e
		}
		return 0, net.SetOption(t, s, level, name, uint32(x[0]))
	}
	v, e := t.In32(at)
	if e != 0 {
		return 0, e
	}
	if level == linux.SOL_SOCKET && name == linux.SO_ATTACH_FILTER {
		return 0, net.AttachFilter(t, s, at, n)
	}
	return 0, net.SetOption(t, s, level, name, v)
}

func setTimeout(t *task.Thread, to *int64, at emu.Addr, n int) linux.Errno {
	if n < 16 {
		return linux.EINVAL
	}
	x, e := t.CopyIn(at, 16)
	if e != 0 {
		return e
	}
	sec, usec := int64(linux.Uint64(x)), int64(linux.Uint64(x[8:]))
	if usec < 0 || usec >= 1e6 {
		return linux.EDOM
	}
	const most = int64(task.Never / 2 / 1_000_000_000)
	switch {
	case sec < 0:
		*to = 1 // a negative timeout has passed already; 0 would be none
	case sec > most:
		*to = 0
	default:
		*to = sec*1e9 + usec*1e3
	}
	return 0
}
