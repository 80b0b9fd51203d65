package syscalls

import (
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// sysGetrandom implements getrandom(2).
func sysGetrandom(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	buf, n, flags := a.Addr(0), min(a.Uint(1), uio.MaxRW), a.U32(2)
	if flags&^(linux.GRND_NONBLOCK|linux.GRND_RANDOM|linux.GRND_INSECURE) != 0 || flags&(linux.GRND_RANDOM|linux.GRND_INSECURE) == linux.GRND_RANDOM|linux.GRND_INSECURE {
		return 0, linux.EINVAL
	}
	return t.FillRandom(buf, n)
}
