package syscalls

import (
	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// sysPipe implements pipe(2).
func sysPipe(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	return files.MakePipe(t, a.Addr(0), 0)
}

// sysPipe2 implements pipe2(2).
func sysPipe2(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	return files.MakePipe(t, a.Addr(0), a.Int(1))
}

// sysEventfd implements eventfd(2).
func sysEventfd(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	return files.Eventfd(t, a.U32(0), 0)
}

// sysEventfd2 implements eventfd2(2).
func sysEventfd2(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	return files.Eventfd(t, a.U32(0), a.Int(1))
}
