//go:build !windows

package mem

import (
	"math"
	"os"
)

// fileSize returns how long f is, which is mapped: a device is as long as can be. It fails for what has no length, as a
// pipe.
func fileSize(f *os.File) (uint64, error) {
	info, err := f.Stat()
	switch {
	case err != nil:
		return 0, err
	case info.Mode().IsRegular():
		return uint64(info.Size()), nil
	case info.Mode()&os.ModeDevice != 0:
		return math.MaxInt64, nil
	}
	return 0, ErrKind
}
