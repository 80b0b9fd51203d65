package syscalls

import "github.com/cgemu/cgemu/syscalls/internal/linux"

// Flags of open(2) and fcntl(F_SETFL) (include/uapi/asm-generic/fcntl.h).
const (

	// settable are the flags F_SETFL can change.
	settable = linux.O_APPEND | linux.O_DIRECT | linux.O_NOATIME | linux.O_NONBLOCK
)

// dirType is the d_type of a file with mode.
func dirType(mode uint32) uint8 { return uint8(mode & linux.S_IFMT >> 12) }
