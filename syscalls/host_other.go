//go:build !linux

package syscalls

import (
	"net/netip"
	"os"
	"time"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// Hosts other than Linux have no guest memory yet (emu/mem): nothing here is
// reached. It compiles, so that the rest stays free of host dependence.

type hostFD int

const noFD hostFD = -1

func hostOpen(place, int, uint32, uint32) (hostFD, linux.Errno)   { return noFD, linux.ENOSYS }
func hostOf(*os.File) (hostFD, linux.Errno)                       { return noFD, linux.ENOSYS }
func hostStatAt(place, bool) (hostStat, linux.Errno)              { return hostStat{}, linux.ENOSYS }
func hostReadlink(place) (string, linux.Errno)                    { return "", linux.ENOSYS }
func hostMkdir(place, uint32, uint32) linux.Errno                 { return linux.ENOSYS }
func hostMknod(place, uint32, uint32) linux.Errno                 { return linux.ENOSYS }
func hostUnlink(place, bool) linux.Errno                          { return linux.ENOSYS }
func hostRename(place, place, uint32) linux.Errno                 { return linux.ENOSYS }
func hostLink(place, place, bool) linux.Errno                     { return linux.ENOSYS }
func hostSymlink(string, place) linux.Errno                       { return linux.ENOSYS }
func hostChmod(place, uint32, bool) linux.Errno                   { return linux.ENOSYS }
func hostChown(place, *uint32, *uint32, bool) linux.Errno         { return linux.ENOSYS }
func hostUtimes(place, fileTime, fileTime, bool) linux.Errno      { return linux.ENOSYS }
func hostTruncate(place, int64) linux.Errno                       { return linux.ENOSYS }
func hostAccess(place, uint32, bool) linux.Errno                  { return linux.ENOSYS }
func ownUmask()                                                   {}
func hostFileLimit() uint64                                       { return 1 << 20 }
func (f hostFD) setAppend(bool) linux.Errno                       { return linux.ENOSYS }
func hostMemfd(string, uint32) (hostFD, linux.Errno)              { return noFD, linux.ENOSYS }
func hostSetxattr(string, string, []byte, int, bool) linux.Errno  { return linux.ENOSYS }
func hostGetxattr(string, string, bool) ([]byte, linux.Errno)     { return nil, linux.ENOSYS }
func hostListxattr(string, bool) ([]byte, linux.Errno)            { return nil, linux.ENOSYS }
func hostRemovexattr(string, string, bool) linux.Errno            { return linux.ENOSYS }
func (f hostFD) fcntl(int, uint64) (uint64, linux.Errno)          { return 0, linux.ENOSYS }
func hostOwnUID() (uid, gid uint32)                               { return 1000, 1000 }
func hostPollWait(_ []hostPoll, d int64) bool                     { time.Sleep(time.Duration(d)); return false }
func byDescriptor() bool                                          { return false }
func hostAuxv() []byte                                            { return nil }
func (f hostFD) mayWrite() bool                                   { return false }
func (f hostFD) setBlocking()                                     {}
func (f hostFD) close() linux.Errno                               { return 0 }
func (f hostFD) dup() (hostFD, linux.Errno)                       { return noFD, linux.ENOSYS }
func (f hostFD) become(hostFD) linux.Errno                        { return linux.ENOSYS }
func (f hostFD) osFile(string) (*os.File, linux.Errno)            { return nil, linux.ENOSYS }
func (f hostFD) readv([][]byte, int64) (int, linux.Errno)         { return 0, linux.ENOSYS }
func (f hostFD) writev([][]byte, int64) (int, linux.Errno)        { return 0, linux.ENOSYS }
func (f hostFD) seek(int64, int) (int64, linux.Errno)             { return 0, linux.ENOSYS }
func (f hostFD) stat() (hostStat, linux.Errno)                    { return hostStat{}, linux.ENOSYS }
func (f hostFD) onPseudoFS() (string, bool)                       { return "", false }
func (f hostFD) path() string                                     { return "" }
func (f hostFD) isTerminal() bool                                 { return false }
func (f hostFD) readDir() ([]hostDirent, linux.Errno)             { return nil, linux.ENOSYS }
func (f hostFD) chmod(uint32) linux.Errno                         { return linux.ENOSYS }
func (f hostFD) utimes(fileTime, fileTime) linux.Errno            { return linux.ENOSYS }
func (f hostFD) truncate(int64) linux.Errno                       { return linux.ENOSYS }
func (f hostFD) allocate(uint32, int64, int64) linux.Errno        { return linux.ENOSYS }
func (f hostFD) sync() linux.Errno                                { return linux.ENOSYS }
func (f hostFD) flock(int) linux.Errno                            { return linux.ENOSYS }
func (f hostFD) poll(uint32) uint32                               { return 0 }
func (f hostFD) ioctl(uint32, []byte) linux.Errno                 { return linux.ENOSYS }
func hostSocket(int) (hostFD, linux.Errno)                        { return noFD, linux.ENOSYS }
func (f hostFD) connect(netip.AddrPort) linux.Errno               { return linux.ENOSYS }
func (f hostFD) sendTo([]byte, netip.AddrPort) (int, linux.Errno) { return 0, linux.ENOSYS }
func (f hostFD) socketError() linux.Errno                         { return linux.ENOSYS }
func (f hostFD) pendingBytes() int                                { return 0 }
func (f hostFD) shutdown(int) linux.Errno                         { return linux.ENOSYS }
func (f hostFD) receiveFrom([]byte, uint32) (int, netip.AddrPort, linux.Errno) {
	return 0, netip.AddrPort{}, linux.ENOSYS
}

// errnoOf translates a host error.
func errnoOf(err error) linux.Errno {
	if err == nil {
		return 0
	}
	return linux.EIO
}
