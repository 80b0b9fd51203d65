package ipc

import (
	"github.com/cgemu/cgemu/syscalls/internal/host"
	"github.com/cgemu/cgemu/syscalls/internal/task"
)

// ShmDev is the device that mappings of shared segments show in /proc/PID/maps.
const ShmDev = 1

// A ShmSegment is a segment of shared memory: a file without a name. Who has attached it is seen from the address
// spaces.
type ShmSegment struct {
	Object
	// FD is the file on the host that has the memory.
	FD host.FD
	// Size is its length in bytes, Ino the inode that its mappings show.
	Size, Ino uint64
	// Atime and Dtime are when it was last attached and detached, in seconds since 1970.
	Atime, Dtime int64
	// Creator is the process that made it, Last the one that attached or detached it last.
	Creator, Last int
}

// Attached is how many mappings s has in all processes.
func (s *ShmSegment) Attached(k *task.Kernel) uint64 {
	var n uint64
	seen := map[*task.Machine]bool{}
	for _, p := range k.Processes {
		if p.Machine == nil || seen[p.Machine] {
			continue
		}
		seen[p.Machine] = true
		for _, v := range p.Mem.VMAs() {
			if v.Dev == ShmDev && v.Ino == s.Ino {
				n++
			}
		}
	}
	return n
}

// encode is struct shmid64_ds (include/uapi/asm-generic/shmbuf.h).
func (s *ShmSegment) encode(k *task.Kernel) []byte {
	b := s.permissions(k)
	b.U64(s.Size)
	b.I64(s.Atime)
	b.I64(s.Dtime)
	b.I64(s.Ctime)
	b.U32(uint32(s.Creator))
	b.U32(uint32(s.Last))
	b.U64(s.Attached(k))
	b.Zero(16)
	return b
}
