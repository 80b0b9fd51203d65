package files

import (
	"path"
	"slices"
	"strings"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// memoryDevices is the major number of those that follow.
const memoryDevices = 1

// Memory devices by number (Documentation/admin-guide/devices.txt).
const (
	DevNull    = 1<<8 | 3
	DevZero    = 1<<8 | 5
	DevFull    = 1<<8 | 7
	devRandom  = 1<<8 | 8
	devURandom = 1<<8 | 9
)

// Terminals by number.
const (
	DevTTY     = 5 << 8
	devConsole = 5<<8 | 1
	DevPtmx    = 5<<8 | 2
	DevPts     = 136 << 8
)

// DevNodes are the devices that are not the host's. The map is filled in at start,
// since opening a device leads back to it.
var DevNodes = map[string]*VNode{}

var devRoot = DirNode(DevNodes)

func init() {
	for name, rdev := range map[string]uint64{
		"null": DevNull, "zero": DevZero, "full": DevFull, "random": devRandom, "urandom": devURandom,
	} {
		DevNodes[name] = &VNode{
			Mode: linux.S_IFCHR | 0o666, Rdev: rdev,
			Open: func(_ *task.Thread, flags int) (File, linux.Errno) { return openDevice(name, rdev, flags), 0 },
		}
	}
	DevNodes["console"], DevNodes["shm"] = consoleNode(), shmNode()
	self := func(rest string) *VNode { return LinkNode(func(*task.Thread) string { return "/proc/self/fd" + rest }) }
	DevNodes["fd"], DevNodes["stdin"] = self(""), self("/0")
	DevNodes["stdout"], DevNodes["stderr"] = self("/1"), self("/2")
}

// withOurs adds what is ours to what the host has in directory dir: "/" or "/dev".
func withOurs(k *task.Kernel, dir string, entries []DirEntry) []DirEntry {
	nodes := DevNodes
	if dir == "/" {
		nodes = map[string]*VNode{"dev": devRoot, "proc": ProcRoot, "sys": SysRoot}
	}
	for name, n := range nodes {
		if !slices.ContainsFunc(entries, func(d DirEntry) bool { return d.Name == name }) {
			entries = append(entries, DirEntry{name, 0, linux.DirType(n.Mode)})
		}
	}
	slices.SortStableFunc(entries[2:], func(a, b DirEntry) int { return strings.Compare(a.Name, b.Name) })
	for i := range entries {
		if entries[i].Ino == 0 {
			entries[i].Ino = SystemOf(k).Inodes.Virtual(path.Join(dir, entries[i].Name))
		}
	}
	return entries
}

// DeviceName is the name of our device that stands in for a file of the host, over whatever path it was found; "" for
// none.
func DeviceName(mode uint32, rdev uint64) string {
	if mode&linux.S_IFMT == linux.S_IFCHR {
		for name, n := range DevNodes {
			if n.Rdev != 0 && n.Rdev == rdev && rdev != devConsole {
				return name
			}
		}
	}
	return ""
}

// openDevice opens a memory device.
func openDevice(name string, rdev uint64, flags int) File {
	b := OpenedBase("/dev/"+name, flags)
	if rdev == devRandom || rdev == devURandom {
		return &RandomDevice{b}
	}
	return &MemDevice{b, rdev}
}

// A MemDevice is /dev/null, /dev/zero or /dev/full.
type MemDevice struct {
	FileBase
	Rdev uint64
}

func (f *MemDevice) Traits() Traits {
	switch f.Rdev {
	case DevNull:
		return Unpollable | Uniform | NoSpliceRead
	case DevFull:
		return Unpollable | Uniform | NoSpliceWrite
	}
	return Unpollable | Uniform
}

func (f *MemDevice) Reopen(t *task.Thread, flags int) (File, linux.Errno) {
	return reopenDevice(t, f.Path, flags)
}

// reopenDevice opens a device again by its own name, whatever that leads to now.
func reopenDevice(t *task.Thread, name string, flags int) (File, linux.Errno) {
	return DevNodes[path.Base(name)].OpenAt(t, name, flags)
}

func (f *MemDevice) ReadRaw(_ *task.Thread, b []byte, _ int64) (int, linux.Errno) {
	if f.Rdev == DevNull {
		return 0, 0
	}
	clear(b)
	return len(b), 0
}

func (f *MemDevice) WriteRaw(_ *task.Thread, b []byte, _ int64) (int, linux.Errno) {
	if f.Rdev == DevFull {
		return 0, linux.ENOSPC
	}
	return len(b), 0
}

func (f *MemDevice) Read(t *task.Thread, v []uio.Iovec, _ int64) (n uint64, e linux.Errno) {
	if f.Rdev == DevNull {
		return 0, 0
	}
	zeros := make([]byte, min(uio.Total(v), 64<<10))
	for n < uio.Total(v) {
		want := min(uio.Total(v)-n, uint64(len(zeros)))
		put, e := t.Scatter(uio.Skip(v, n), zeros[:want])
		n += uint64(put)
		switch {
		case n == 0:
			return 0, e
		case uint64(put) < want:
			return n, 0
		}
	}
	return n, 0
}

func (f *MemDevice) Write(_ *task.Thread, v []uio.Iovec, _ int64) (uint64, linux.Errno) {
	if f.Rdev == DevFull {
		return 0, linux.ENOSPC
	}
	return uio.Total(v), 0
}

func (f *MemDevice) Seek(*task.Thread, int64, int) (int64, linux.Errno) { return 0, 0 }

func (f *MemDevice) Stat(t *task.Thread) (Stat, linux.Errno) {
	return DevNodes[path.Base(f.Path)].Stat(t, f.Path), 0
}

// A RandomDevice is /dev/random or /dev/urandom.
type RandomDevice struct{ FileBase }

func (*RandomDevice) Traits() Traits { return Uniform }

func (f *RandomDevice) Reopen(t *task.Thread, flags int) (File, linux.Errno) {
	return reopenDevice(t, f.Path, flags)
}

func (f *RandomDevice) ReadRaw(t *task.Thread, b []byte, _ int64) (int, linux.Errno) {
	t.Kernel.RNG.Read(b)
	return len(b), 0
}

func (f *RandomDevice) Read(t *task.Thread, v []uio.Iovec, _ int64) (uint64, linux.Errno) {
	var done uint64
	for _, x := range v {
		n, e := t.FillRandom(x.Addr, x.Len)
		if e != 0 && done == 0 {
			return 0, e
		}
		if done += n; n < x.Len {
			break
		}
	}
	return done, 0
}

// Write adds entropy, of which there is none.
func (f *RandomDevice) Write(_ *task.Thread, v []uio.Iovec, _ int64) (uint64, linux.Errno) {
	return uio.Total(v), 0
}

func (f *RandomDevice) WriteRaw(_ *task.Thread, b []byte, _ int64) (int, linux.Errno) {
	return len(b), 0
}

func (f *RandomDevice) Seek(*task.Thread, int64, int) (int64, linux.Errno) { return 0, 0 }

func (f *RandomDevice) Stat(t *task.Thread) (Stat, linux.Errno) {
	return DevNodes[path.Base(f.Path)].Stat(t, f.Path), 0
}

func (f *RandomDevice) Ioctl(t *task.Thread, req uint32, arg emu.Addr) (uint64, linux.Errno) {
	const rndGetEntCnt = 0x80045200
	if req == rndGetEntCnt {
		return 0, t.Out32(arg, 256)
	}
	return 0, linux.EINVAL
}
