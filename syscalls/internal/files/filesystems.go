package files

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
	SockDev: linux.SOCKFS_MAGIC, pipeDev: linux.PIPEFS_MAGIC, anonDev: anonMagic, NsDev: linux.NSFS_MAGIC, MqueueDev: mqueueMagic,
	procDev: procMagic, sysDev: linux.SYSFS_MAGIC, ptsDev: devptsMagic,
}

// BlockSize is the size of blocks of the file system on device dev.
func BlockSize(dev uint64) uint32 {
	if dev == procDev || dev == ptsDev {
		return 1024
	}
	return emu.PageSize
}

// StatfsOf is struct statfs for a file of device dev, called name: an ext4 with room, a tmpfs where it is in memory, or
// one of the kernel's own.
func StatfsOf(dev uint64, name string) []byte {
	magic, blocks := uint64(ext4Magic), uint64(fsBlocks)
	if m, ok := magics[dev]; ok {
		magic, blocks = m, 0
	} else if strings.HasPrefix(name, "/dev/") || name == "/dev" || strings.HasPrefix(name, "/memfd:") {
		magic = linux.TMPFS_MAGIC
	}
	var b linux.Pack
	b.U64(magic)
	b.U64(emu.PageSize)
	b.U64(blocks)
	b.U64(blocks / 2)
	b.U64(blocks / 2)
	b.U64(blocks / 4)
	b.U64(blocks / 8)
	b.U64(0) // f_fsid
	b.U64(255)
	b.U64(emu.PageSize)
	b.U64(0x20) // ST_VALID
	b.Zero(32)
	return b
}
