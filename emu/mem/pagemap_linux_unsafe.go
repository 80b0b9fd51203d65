//go:build linux && !portable

package mem

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// pagemapScan is the request PAGEMAP_SCAN of fd: it fills regions with what arg asks for, returns how many there are,
// and how far it came in arg.walkEnd.
func pagemapScan(fd int, arg *pmScanArg, regions []pageRegion) (int, error) {
	arg.size = uint64(unsafe.Sizeof(*arg))
	arg.vec, arg.vecLen = &regions[0], uint64(len(regions))
	n, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), requestPagemapScan, uintptr(unsafe.Pointer(arg)))
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}
