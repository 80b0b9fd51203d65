//go:build unix

package outfile

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// descriptorOf returns the descriptor of this process that path names, as /dev/stdout does and /dev/fd/3. The file that
// it refers to may have a name, too, but who opened it goes on writing at the descriptor's place in it.
func descriptorOf(path string) (fd int, ok bool) {
	const maxLinks = 40 // as Linux has it
	for range maxLinks {
		dir, err := filepath.EvalSymlinks(filepath.Dir(path))
		if err != nil {
			return 0, false
		}
		if dir == "/dev/fd" || dir == fmt.Sprintf("/proc/%d/fd", os.Getpid()) {
			n, err := strconv.ParseUint(filepath.Base(path), 10, 31)
			return int(n), err == nil
		}
		to, err := os.Readlink(path)
		if err != nil {
			return 0, false
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(dir, to)
		}
		path = to
	}
	return 0, false
}

// duplicate returns another descriptor for the file that fd, called name, refers to.
func duplicate(fd int, name string) (*os.File, error) {
	d, err := syscall.Dup(fd)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	syscall.CloseOnExec(d)
	return os.NewFile(uintptr(d), name), nil
}
