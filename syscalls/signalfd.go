package syscalls

import (
	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// sysSignalfd implements signalfd(2).
func sysSignalfd(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	return files.Signalfd(t, a.Int(0), a.Addr(1), a.Uint(2), 0)
}

// sysSignalfd4 implements signalfd4(2).
func sysSignalfd4(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	return files.Signalfd(t, a.Int(0), a.Addr(1), a.Uint(2), a.Int(3))
}
