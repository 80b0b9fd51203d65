//go:build unix

package image

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// identity is what changes when a file does: also the time of its inode, which nobody can set.
func identity(f *os.File) (id string, size int64, err error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return "", 0, err
	}
	return fmt.Sprintf("%d bytes, %d:%d, %d.%d, %d.%d", st.Size, st.Dev, st.Ino, st.Mtim.Sec, st.Mtim.Nsec, st.Ctim.Sec, st.Ctim.Nsec), st.Size, nil
}
