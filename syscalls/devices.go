package syscalls

import (
	"path"
	"slices"
	"strings"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// Memory devices by number (Documentation/admin-guide/devices.txt).
const (
	devNull    = 1<<8 | 3
	devZero    = 1<<8 | 5
	devFull    = 1<<8 | 7
	devRandom  = 1<<8 | 8
	devURandom = 1<<8 | 9
)

// Terminals by number.
const (
	devTTY     = 5 << 8
	devConsole = 5<<8 | 1
	devPtmx    = 5<<8 | 2
	devPts     = 136 << 8
)

// devNodes are the devices that are not the host's. The map is filled in at start,
// since opening a device leads back to it.
var devNodes = map[string]*vnode{}

var devRoot = dirNode(devNodes)

func init() {
	for name, rdev := range map[string]uint64{
		"null": devNull, "zero": devZero, "full": devFull, "random": devRandom, "urandom": devURandom,
	} {
		devNodes[name] = &vnode{
			mode: linux.S_IFCHR | 0o666, rdev: rdev,
			open: func(_ *Thread, flags int) (file, linux.Errno) { return openDevice(name, rdev, flags), 0 },
		}
	}
	devNodes["console"], devNodes["shm"] = consoleNode(), shmNode()
	self := func(rest string) *vnode { return linkNode(func(*Thread) string { return "/proc/self/fd" + rest }) }
	devNodes["fd"], devNodes["stdin"] = self(""), self("/0")
	devNodes["stdout"], devNodes["stderr"] = self("/1"), self("/2")
}

// withOurs adds what is ours to what the host has in directory dir: "/" or "/dev".
func (k *Kernel) withOurs(dir string, entries []dirEntry) []dirEntry {
	nodes := devNodes
	if dir == "/" {
		nodes = map[string]*vnode{"dev": devRoot, "proc": procRoot, "sys": sysRoot}
	}
	for name, n := range nodes {
		if !slices.ContainsFunc(entries, func(d dirEntry) bool { return d.name == name }) {
			entries = append(entries, dirEntry{name, 0, dirType(n.mode)})
		}
	}
	slices.SortStableFunc(entries[2:], func(a, b dirEntry) int { return strings.Compare(a.name, b.name) })
	for i := range entries {
		if entries[i].ino == 0 {
			entries[i].ino = fsOf(k).inodes.virtual(path.Join(dir, entries[i].name))
		}
	}
	return entries
}

// deviceName is the name of our device that stands in for a file of the host, over whatever path it was found; "" for none.
func deviceName(mode uint32, rdev uint64) string {
	if mode&linux.S_IFMT == linux.S_IFCHR {
		for name, n := range devNodes {
			if n.rdev != 0 && n.rdev == rdev && rdev != devConsole {
				return name
			}
		}
	}
	return ""
}

// openDevice opens a memory device.
func openDevice(name string, rdev uint64, flags int) file {
	b := fileBase{flags: flags &^ (linux.O_CREAT | linux.O_EXCL | linux.O_NOCTTY | linux.O_TRUNC | linux.O_CLOEXEC), path: "/dev/" + name}
	if rdev == devRandom || rdev == devURandom {
		return &randomFile{b}
	}
	return &memFile{b, rdev}
}

// A memFile is /dev/null, /dev/zero or /dev/full.
type memFile struct {
	fileBase
	rdev uint64
}

func (*memFile) traits() traits { return unpollable | uniform }

func (f *memFile) readRaw(_ *Thread, b []byte, _ int64) (int, linux.Errno) {
	if f.rdev == devNull {
		return 0, 0
	}
	clear(b)
	return len(b), 0
}

func (f *memFile) writeRaw(_ *Thread, b []byte, _ int64) (int, linux.Errno) {
	if f.rdev == devFull {
		return 0, linux.ENOSPC
	}
	return len(b), 0
}

func (f *memFile) read(t *Thread, v []iovec, _ int64) (n uint64, e linux.Errno) {
	if f.rdev == devNull {
		return 0, 0
	}
	zeros := make([]byte, min(total(v), 64<<10))
	for n < total(v) {
		want := min(total(v)-n, uint64(len(zeros)))
		put, e := t.scatter(skip(v, n), zeros[:want])
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

func (f *memFile) write(_ *Thread, v []iovec, _ int64) (uint64, linux.Errno) {
	if f.rdev == devFull {
		return 0, linux.ENOSPC
	}
	return total(v), 0
}

func (f *memFile) seek(*Thread, int64, int) (int64, linux.Errno) { return 0, 0 }

func (f *memFile) stat(t *Thread) (stat, linux.Errno) {
	return devNodes[path.Base(f.path)].stat(t, f.path), 0
}

// A randomFile is /dev/random or /dev/urandom.
type randomFile struct{ fileBase }

func (*randomFile) traits() traits { return uniform }

func (f *randomFile) readRaw(t *Thread, b []byte, _ int64) (int, linux.Errno) {
	t.k.rng.read(b)
	return len(b), 0
}

func (f *randomFile) read(t *Thread, v []iovec, _ int64) (uint64, linux.Errno) {
	var done uint64
	for _, x := range v {
		n, e := t.fillRandom(x.addr, x.n)
		if e != 0 && done == 0 {
			return 0, e
		}
		if done += n; n < x.n {
			break
		}
	}
	return done, 0
}

// write adds entropy, of which there is none.
func (f *randomFile) write(_ *Thread, v []iovec, _ int64) (uint64, linux.Errno) { return total(v), 0 }

func (f *randomFile) writeRaw(_ *Thread, b []byte, _ int64) (int, linux.Errno) { return len(b), 0 }

func (f *randomFile) seek(*Thread, int64, int) (int64, linux.Errno) { return 0, 0 }

func (f *randomFile) stat(t *Thread) (stat, linux.Errno) {
	return devNodes[path.Base(f.path)].stat(t, f.path), 0
}

func (f *randomFile) ioctl(t *Thread, req uint32, arg emu.Addr) (uint64, linux.Errno) {
	const rndGetEntCnt = 0x80045200
	if req == rndGetEntCnt {
		return 0, t.out32(arg, 256)
	}
	return 0, linux.EINVAL
}
