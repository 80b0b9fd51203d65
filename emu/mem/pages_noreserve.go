//go:build darwin || (linux && portable)

package mem

import "golang.org/x/sys/unix"

// noReserve has the host not reserve swap for what is mapped.
const noReserve = unix.MAP_NORESERVE
