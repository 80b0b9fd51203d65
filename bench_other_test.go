//go:build !linux

package cgemu_test

import "os"

// maxRSS is not known on this host.
func maxRSS(*os.ProcessState) int64 { return 0 }
