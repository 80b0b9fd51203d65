//go:build !linux

package host

import (
	"net/netip"
	"os"
	"time"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// Hosts other than Linux have no guest memory yet (emu/mem): nothing here is
// reached. It compiles, so that the rest stays free of host dependence.

type FD int

const NoFD FD = -1

func Open(Place, int, uint32, uint32) (FD, linux.Errno) { return NoFD, linux.ENOSYS }

func FromFile(*os.File) (FD, linux.Errno) { return NoFD, linux.ENOSYS }

func StatAt(Place, bool) (Stat, linux.Errno) { return Stat{}, linux.ENOSYS }

func Readlink(Place) (string, linux.Errno) { return "", linux.ENOSYS }

func Mkdir(Place, uint32, uint32) linux.Errno { return linux.ENOSYS }

func Mknod(Place, uint32, uint32) linux.Errno { return linux.ENOSYS }

func Unlink(Place, bool) linux.Errno { return linux.ENOSYS }

func Rename(Place, Place, uint32) linux.Errno { return linux.ENOSYS }

func Link(Place, Place, bool) linux.Errno { return linux.ENOSYS }

func Symlink(string, Place) linux.Errno { return linux.ENOSYS }

func Chmod(Place, uint32, bool) linux.Errno { return linux.ENOSYS }

func chown(Place, *uint32, *uint32, bool) linux.Errno { return linux.ENOSYS }

func Utimes(Place, Time, Time, bool) linux.Errno { return linux.ENOSYS }

func Truncate(Place, int64) linux.Errno { return linux.ENOSYS }

func Access(Place, uint32, bool) linux.Errno { return linux.ENOSYS }

func OwnUmask() {}

func FileLimit() uint64 { return 1 << 20 }

func (f FD) SetAppend(bool) linux.Errno { return linux.ENOSYS }

func Memfd(string, uint32) (FD, linux.Errno) { return NoFD, linux.ENOSYS }

func Setxattr(string, string, []byte, int, bool) linux.Errno { return linux.ENOSYS }

func Getxattr(string, string, bool) ([]byte, linux.Errno) { return nil, linux.ENOSYS }

func Listxattr(string, bool) ([]byte, linux.Errno) { return nil, linux.ENOSYS }

func Removexattr(string, string, bool) linux.Errno { return linux.ENOSYS }

func (f FD) Fcntl(int, uint64) (uint64, linux.Errno) { return 0, linux.ENOSYS }

func User() (uid, gid uint32) { return 1000, 1000 }

func PollWait(_ []PollFD, d int64) bool { time.Sleep(time.Duration(d)); return false }

func ByDescriptor() bool { return false }

func Auxv() []byte { return nil }

func (f FD) MayWrite() bool { return false }

func (f FD) SetBlocking() {}

func (f FD) Close() linux.Errno { return 0 }

func (f FD) Dup() (FD, linux.Errno) { return NoFD, linux.ENOSYS }

func (f FD) become(FD) linux.Errno { return linux.ENOSYS }

func (f FD) OSFile(string) (*os.File, linux.Errno) { return nil, linux.ENOSYS }

func (f FD) Readv([][]byte, int64) (int, linux.Errno) { return 0, linux.ENOSYS }

func (f FD) Writev([][]byte, int64) (int, linux.Errno) { return 0, linux.ENOSYS }

func (f FD) Lseek(int64, int) (int64, linux.Errno) { return 0, linux.ENOSYS }

func (f FD) Stat() (Stat, linux.Errno) { return Stat{}, linux.ENOSYS }

func (f FD) OnPseudoFS() (string, bool) { return "", false }

func (f FD) OnTmpfs() bool { return false }

func (f FD) Path() string { return "" }

func (f FD) IsTerminal() bool { return false }

func (f FD) ReadDir() ([]Dirent, linux.Errno) { return nil, linux.ENOSYS }

func (f FD) Chmod(uint32) linux.Errno { return linux.ENOSYS }

func (f FD) Utimes(Time, Time) linux.Errno { return linux.ENOSYS }

func (f FD) Truncate(int64) linux.Errno { return linux.ENOSYS }

func (f FD) Allocate(uint32, int64, int64) linux.Errno { return linux.ENOSYS }

func (f FD) Sync() linux.Errno { return linux.ENOSYS }

func (f FD) Flock(int) linux.Errno { return linux.ENOSYS }

func (f FD) Poll(uint32) uint32 { return 0 }

func (f FD) Ioctl(uint32, []byte) linux.Errno { return linux.ENOSYS }

func (OwnNetwork) Socket(int) (Socket, linux.Errno) { return nil, linux.ENOSYS }

func (f FD) Connect(netip.AddrPort) linux.Errno { return linux.ENOSYS }

func (f FD) SendTo([]byte, netip.AddrPort) (int, linux.Errno) { return 0, linux.ENOSYS }

func (f FD) SocketError() linux.Errno { return linux.ENOSYS }

func (f FD) PendingBytes() int { return 0 }

func (f FD) Shutdown(int) linux.Errno { return linux.ENOSYS }

func (f FD) ReceiveFrom([]byte, uint32) (int, netip.AddrPort, linux.Errno) {
	return 0, netip.AddrPort{}, linux.ENOSYS
}

// ErrnoOf translates a host error.
func ErrnoOf(err error) linux.Errno {
	if err == nil {
		return 0
	}
	return linux.EIO
}
