package ipc

import (
	"github.com/cgemu/cgemu/syscalls/internal/host"
	"github.com/cgemu/cgemu/syscalls/internal/task"
)

// ShmDev is the device of mappings of System V shared memory in /proc/PID/maps.
const ShmDev = 1

// A ShmSegment is a piece of shared memory: a file without a name. Who has it attached is seen in the
// address spaces.
type ShmSegment struct {
	Object
	FD            host.FD
	Size, Ino     uint64
	Atime, Dtime  int64
	Creator, Last int
}

// Attached is how many mappings s has.
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
