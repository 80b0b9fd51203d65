package procfs

import (
	"bytes"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/task"
)

// This file has /proc/PID/cmdline and environ, which show what lies now where execve(2) put arguments and variables
// (fs/proc/base.c). Linux shows the memory between two addresses. Here each string has a place of its own, as the
// loader leaves gaps between them, which are not shown.

// cmdlineText is the arguments of p. If their last byte is not NUL any more, p has written a title over them
// (setproctitle(3)): that goes on up to a NUL, also into the environment, and is shown as far as it lies within a
// page's length.
func cmdlineText(p *task.Process) string {
	x := p.Program
	if p.Exited || x == nil || len(x.ArgAddrs) == 0 {
		return ""
	}
	last := len(x.ArgAddrs) - 1
	end := placeEnd(x.ArgAddrs[last], p.Argv[last])
	if b := memoryOf(p, end-1, end); len(b) == 0 || b[0] == 0 {
		return stringsOf(p, p.Argv, x.ArgAddrs)
	}
	if n := len(x.EnvAddrs); n > 0 {
		end = placeEnd(x.EnvAddrs[n-1], p.Envv[n-1])
	}
	return string(upToNUL(memoryOf(p, x.ArgAddrs[0], min(end, x.ArgAddrs[0]+emu.PageSize))))
}

// environText is the variables of p.
func environText(p *task.Process) string {
	if p.Exited || p.Program == nil {
		return ""
	}
	return stringsOf(p, p.Envv, p.Program.EnvAddrs)
}

// stringsOf returns what lies where list was put, up to what cannot be read. A string that was made longer shows what
// it has of the gap behind its place.
func stringsOf(p *task.Process, list []string, at []emu.Addr) string {
	var out []byte
	for i, a := range at {
		end := placeEnd(a, list[i])
		b := memoryOf(p, a, end)
		out = append(out, b...)
		if emu.Addr(len(b)) < end-a {
			break
		}
		if i+1 < len(at) && b[len(b)-1] != 0 {
			out = append(out, upToNUL(memoryOf(p, end, at[i+1]))...)
		}
	}
	return string(out)
}

// placeEnd is the end of the place of s, which execve(2) put at a with a NUL behind it.
func placeEnd(a emu.Addr, s string) emu.Addr { return a + emu.Addr(len(s)) + 1 }

// memoryOf returns the memory of p from lo up to hi, or what can be read of it.
func memoryOf(p *task.Process, lo, hi emu.Addr) []byte {
	b := make([]byte, hi-lo)
	return b[:p.Mem.Read(lo, b)]
}

// upToNUL is b up to its first NUL, which belongs to it.
func upToNUL(b []byte) []byte {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		return b[:i+1]
	}
	return b
}
