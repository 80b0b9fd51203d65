package syscalls

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
)

// ownerIoctl answers the requests that are F_SETOWN and F_GETOWN for sockets.
func ownerIoctl(t *task.Thread, b *files.FileBase, req uint32, arg emu.Addr) (uint64, linux.Errno) {
	if req == linux.FIOGETOWN || req == linux.SIOCGPGRP {
		owner, _ := files.FcntlOwner(t, b, linux.F_GETOWN, 0)
		return 0, t.Out32(arg, uint32(owner))
	}
	owner, e := t.In32(arg)
	if e != 0 {
		return 0, e
	}
	return files.FcntlOwner(t, b, linux.F_SETOWN, uint64(owner))
}
