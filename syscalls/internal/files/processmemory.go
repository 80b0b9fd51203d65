package files

import (
	"fmt"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// chunk is how much of a process' memory is copied at a time.
const chunk = 64 << 10

// MemNode is /proc/PID/mem of o's process.
func MemNode(o *task.Thread) *VNode {
	return memoryNode(o, "mem", 0o600, func(f memoryFile) File { return &processMemory{f} })
}

// PagemapNode is /proc/PID/pagemap.
func PagemapNode(o *task.Thread) *VNode {
	return memoryNode(o, "pagemap", 0o400, func(f memoryFile) File { return &pageMap{f} })
}

// memoryNode is /proc/PID/name, a file about the memory that the process has when it is opened.
func memoryNode(o *task.Thread, name string, mode uint32, of func(memoryFile) File) *VNode {
	n := &VNode{Mode: linux.S_IFREG | mode}
	n.Open = func(t *task.Thread, flags int) (File, linux.Errno) {
		base := OpenedBase(fmt.Sprintf("/proc/%d/%s", o.TID, name), flags)
		return of(memoryFile{FileBase: base, node: n, process: o.Process, space: o.Process.Mem}), 0
	}
	return n
}

// A memoryFile is what an open mem and an open pagemap have in common.
type memoryFile struct {
	FileBase
	node    *VNode
	process *task.Process
	space   *mem.Space
	pos     int64
}

func (*memoryFile) Traits() Traits { return Unpollable }

func (f *memoryFile) Reopen(t *task.Thread, flags int) (File, linux.Errno) {
	return f.node.OpenAt(t, f.Path, flags)
}

func (f *memoryFile) Stat(t *task.Thread) (Stat, linux.Errno) {
	return f.node.Stat(t, f.Path), 0
}

func (f *memoryFile) Seek(_ *task.Thread, off int64, whence int) (int64, linux.Errno) {
	if whence == linux.SEEK_CUR {
		off += f.pos
	}
	if off < 0 || whence != linux.SEEK_SET && whence != linux.SEEK_CUR {
		return 0, linux.EINVAL
	}
	f.pos = off
	return off, 0
}

// gone reports whether the process has ended, or executed a program.
func (f *memoryFile) gone() bool { return f.process.Exited || f.process.Mem != f.space }

// transfer moves bytes of v to or from off, or where f stands if off is negative, by parts. A part that moves fewer
// than it is to ends the transfer, with its error if it is the first.
func (f *memoryFile) transfer(v []uio.Iovec, off int64, part func(v []uio.Iovec, at emu.Addr, n uint64) (uint64, linux.Errno)) (done uint64, e linux.Errno) {
	at := off
	if off < 0 {
		at = f.pos
	}
	for total := uio.Total(v); done < total && !f.gone(); {
		n := min(total-done, chunk)
		moved, err := part(uio.Skip(v, done), emu.Addr(at)+emu.Addr(done), n)
		if done += moved; moved < n {
			e = err
			break
		}
	}
	if done > 0 {
		e = 0
	}
	if off < 0 {
		f.pos += int64(done)
	}
	return done, e
}

// A processMemory is /proc/PID/mem: what permissions a page has does not matter (FOLL_FORCE).
type processMemory struct{ memoryFile }

func (f *processMemory) Read(t *task.Thread, v []uio.Iovec, off int64) (uint64, linux.Errno) {
	buf := make([]byte, min(uio.Total(v), chunk))
	return f.transfer(v, off, func(v []uio.Iovec, at emu.Addr, n uint64) (uint64, linux.Errno) {
		got := f.space.Peek(at, buf[:n])
		if got == 0 {
			return 0, linux.EIO
		}
		put, e := t.Scatter(v, buf[:got])
		return uint64(put), e
	})
}

func (f *processMemory) Write(t *task.Thread, v []uio.Iovec, off int64) (uint64, linux.Errno) {
	return f.transfer(v, off, func(v []uio.Iovec, at emu.Addr, n uint64) (uint64, linux.Errno) {
		b, e := t.Gather(v, n)
		if e != 0 {
			return 0, e
		}
		return f.poke(at, b), linux.EIO
	})
}

// poke writes b at a, but not to what others see too and this process may not write to.
func (f *processMemory) poke(a emu.Addr, b []byte) (done uint64) {
	for done < uint64(len(b)) {
		at := a + emu.Addr(done)
		v := f.space.VMA(at)
		if v == nil || v.Shared && v.Prot&mem.Write == 0 {
			break
		}
		part := b[done:min(uint64(len(b)), uint64(v.Hi-a))]
		n := f.space.Poke(at, part)
		if done += uint64(n); n < len(part) {
			break
		}
	}
	return done
}

// A pageMap is /proc/PID/pagemap: 64 bits for each page (Documentation/admin-guide/mm/pagemap.rst). All that is mapped
// is said to be in memory, as mincore(2) says, too; where, only the superuser is told. A page of a private mapping is
// its file's until it differs: programs that save what a process has changed read that.
type pageMap struct{ memoryFile }

const (
	pageEntry   = 8
	pageAlone   = 1 << 56
	pageOfFile  = 1 << 61
	pagePresent = 1 << 63
)

func (f *pageMap) Read(t *task.Thread, v []uio.Iovec, off int64) (uint64, linux.Errno) {
	if at := max(off, 0); uio.Total(v)%pageEntry != 0 || at%pageEntry != 0 || off < 0 && f.pos%pageEntry != 0 {
		return 0, linux.EINVAL
	}
	const end = emu.Addr(1<<47) / emu.PageSize * pageEntry
	return f.transfer(v, off, func(v []uio.Iovec, at emu.Addr, n uint64) (uint64, linux.Errno) {
		var b linux.Pack
		for to := min(at+emu.Addr(n), end); at < to; at += pageEntry {
			b.U64(f.entry(at / pageEntry * emu.PageSize))
		}
		put, e := t.Scatter(v, b)
		return uint64(put), e
	})
}

func (f *pageMap) entry(page emu.Addr) uint64 {
	switch v := f.space.VMA(page); {
	case v == nil:
		return 0
	case v.Shared || f.space.OfFile(page):
		return pagePresent | pageOfFile
	}
	return pagePresent | pageAlone
}
