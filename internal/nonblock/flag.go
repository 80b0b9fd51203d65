//go:build !js

package nonblock

import "syscall"

// Flag is for os.OpenFile.
const Flag = syscall.O_NONBLOCK
