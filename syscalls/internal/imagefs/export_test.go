package imagefs

import (
	"github.com/cgemu/cgemu/internal/image"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/vfs"
)

// NewSmall is New, with other contents, of which few bytes are kept.
func NewSmall(root *image.File, idle int64, newContent func(uint64, uint32) (vfs.Content, linux.Errno)) *FS {
	fs := New(root, vfs.MemOptions{NewContent: newContent})
	fs.maxIdle = idle
	return fs
}
