//go:build !unix && !windows

package host

import (
	"io/fs"
	"os"
	"path"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// Hosts without processes, as a browser: no guest runs there (emu/mem), and this is compiled only.

const (
	nonblocking = 0
	HasRoot     = false
	foldsCase   = false
)

func (s spot) symlink(string) error { return linux.EPERM }
func isLinkFile(fs.FileInfo) bool   { return false }

func FileLimit() uint64 { return 1024 }

func hostPath(p string) string     { return p }
func guestName(name string) string { return name }
func GuestPath(p string) string    { return p }

func trueName(s spot) string { return path.Base(s.rel) }

func identify(*Stat, fs.FileInfo, spot, *os.File) {}

func statOfStream(_ *os.File, err error) (Stat, linux.Errno) { return Stat{}, ErrnoOf(err) }

func OpenTerminal(int) (FD, linux.Errno) { return NoFD, linux.ENXIO }

func setMode(s spot, mode uint32) error      { return s.top.root.Chmod(s.rel, fileMode(mode, 0)) }
func setOpenMode(o *file, mode uint32) error { return o.f.Chmod(fileMode(mode, 0)) }
func removed(spot)                           {}
func renamed(_, _ spot)                      {}
func mkspecial(spot, uint32) error           { return linux.EPERM }

func duplicate(*os.File) (*os.File, error) { return nil, linux.ENOSYS }
func accessOf(*os.File) int                { return linux.O_RDWR }

func transfer(f *os.File, b []byte, write bool) (int, error) {
	if write {
		return f.Write(b)
	}
	return f.Read(b)
}

// PipeRoom is how much a pipe takes at once that ready says can be written.
const PipeRoom = 1 << 30

func ready(_ *os.File, events uint32) uint32 { return events }
func errnoOf(error) linux.Errno              { return 0 }

func (f FD) IsTerminal() bool                 { return false }
func (f FD) Ioctl(uint32, []byte) linux.Errno { return linux.ENOTTY }
