package syscalls

import (
	"strings"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// Magic numbers of file systems (include/uapi/linux/magic.h).
const (
	ext4Magic   = 0xef53
	procMagic   = 0x9fa0
	devptsMagic = 0x1cd1
	anonMagic   = 0x09041934
	mqueueMagic = 0x19800202
)

// fsBlocks is the size of every file system that has one: 256 GiB.
const fsBlocks = 1 << 26

// magics are the kernel's own file systems, by device.
var magics = map[uint64]uint64{
	sockDev: linux.SOCKFS_MAGIC, pipeDev: linux.PIPEFS_MAGIC, anonDev: anonMagic, nsDev: linux.NSFS_MAGIC, mqueueDev: mqueueMagic,
	procDev: procMagic, sysDev: linux.SYSFS_MAGIC, ptsDev: devptsMagic,
}

// blockSize is the size of blocks of the file system on device dev.
func blockSize(dev uint64) uint32 {
	if dev == procDev || dev == ptsDev {
		return 1024
	}
	return emu.PageSize
}

// statfsOf is struct statfs for a file of device dev, called name: an ext4 with room, a tmpfs where it is in memory, or one
// of the kernel's own.
func statfsOf(dev uint64, name string) []byte {
	magic, blocks := uint64(ext4Magic), uint64(fsBlocks)
	if m, ok := magics[dev]; ok {
		magic, blocks = m, 0
	} else if strings.HasPrefix(name, "/dev/") || name == "/dev" || strings.HasPrefix(name, "/memfd:") {
		magic = linux.TMPFS_MAGIC
	}
	var b pack
	b.u64(magic)
	b.u64(emu.PageSize)
	b.u64(blocks)
	b.u64(blocks / 2)
	b.u64(blocks / 2)
	b.u64(blocks / 4)
	b.u64(blocks / 8)
	b.u64(0) // f_fsid
	b.u64(255)
	b.u64(emu.PageSize)
	b.u64(0x20) // ST_VALID
	b.zero(32)
	return b
}

// sysStatfs implements statfs(2).
func sysStatfs(t *Thread, a Args) (uint64, linux.Errno) {
	s, e := t.path(a.Addr(0))
	if e != 0 {
		return 0, e
	}
	l, e := t.locate(linux.AT_FDCWD, s, true)
	if e != 0 {
		return 0, e
	}
	st, e := t.statOf(l, true)
	if e != 0 {
		return 0, e
	}
	name := l.guest
	if l.private {
		name = "/dev/shm"
	}
	return 0, t.copyOut(a.Addr(1), statfsOf(st.dev, name))
}

// sysFstatfs implements fstatfs(2).
func sysFstatfs(t *Thread, a Args) (uint64, linux.Errno) {
	f, e := t.file(a.Int(0))
	if e != 0 {
		return 0, e
	}
	st, e := f.stat(t)
	if e != 0 {
		return 0, e
	}
	return 0, t.copyOut(a.Addr(1), statfsOf(st.dev, f.name(t.k)))
}
