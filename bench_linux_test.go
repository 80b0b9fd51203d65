package cgemu_test

import (
	"os"
	"syscall"
)

// maxRSS returns a process' largest resident set in KiB.
func maxRSS(s *os.ProcessState) int64 { return s.SysUsage().(*syscall.Rusage).Maxrss }
