package syscalls

import "github.com/cgemu/cgemu/syscalls/internal/linux"

// settable are the flags that fcntl(F_SETFL) can change.
const settable = linux.O_APPEND | linux.O_DIRECT | linux.O_NOATIME | linux.O_NONBLOCK

// dirType is the d_type of a file with mode.
func dirType(mode uint32) uint8 { return uint8(mode & linux.S_IFMT >> 12) }
