//go:build !linux

package syscalls

import (
	"net/netip"
	"os"
	"time"
)

// Hosts other than Linux have no guest memory yet (emu/mem): nothing here is
// reached. It compiles, so that the rest stays free of host dependence.

type hostFD int

const noFD hostFD = -1

func hostOpen(place, int, uint32, uint32) (hostFD, Errno)   { return noFD, ENOSYS }
func hostOf(*os.File) (hostFD, Errno)                       { return noFD, ENOSYS }
func hostStatAt(place, bool) (hostStat, Errno)              { return hostStat{}, ENOSYS }
func hostReadlink(place) (string, Errno)                    { return "", ENOSYS }
func hostMkdir(place, uint32, uint32) Errno                 { return ENOSYS }
func hostMknod(place, uint32, uint32) Errno                 { return ENOSYS }
func hostUnlink(place, bool) Errno                          { return ENOSYS }
func hostRename(place, place, uint32) Errno                 { return ENOSYS }
func hostLink(place, place, bool) Errno                     { return ENOSYS }
func hostSymlink(string, place) Errno                       { return ENOSYS }
func hostChmod(place, uint32, bool) Errno                   { return ENOSYS }
func hostUtimes(place, fileTime, fileTime, bool) Errno      { return ENOSYS }
func hostTruncate(place, int64) Errno                       { return ENOSYS }
func hostAccess(place, uint32, bool) Errno                  { return ENOSYS }
func ownUmask()                                             {}
func hostFileLimit() uint64                                 { return 1 << 20 }
func (f hostFD) setAppend(bool) Errno                       { return ENOSYS }
func hostMemfd(string, uint32) (hostFD, Errno)              { return noFD, ENOSYS }
func hostSetxattr(string, string, []byte, int, bool) Errno  { return ENOSYS }
func hostGetxattr(string, string, bool) ([]byte, Errno)     { return nil, ENOSYS }
func hostListxattr(string, bool) ([]byte, Errno)            { return nil, ENOSYS }
func hostRemovexattr(string, string, bool) Errno            { return ENOSYS }
func (f hostFD) fcntl(int, uint64) (uint64, Errno)          { return 0, ENOSYS }
func hostOwnUID() (uid, gid uint32)                         { return DefaultUID, DefaultGID }
func hostPollWait(_ []hostPoll, d int64) bool               { time.Sleep(time.Duration(d)); return false }
func byDescriptor() bool                                    { return false }
func hostAuxv() []byte                                      { return nil }
func (f hostFD) mayWrite() bool                             { return false }
func (f hostFD) setBlocking()                               {}
func (f hostFD) close() Errno                               { return 0 }
func (f hostFD) dup() (hostFD, Errno)                       { return noFD, ENOSYS }
func (f hostFD) osFile(string) (*os.File, Errno)            { return nil, ENOSYS }
func (f hostFD) readv([][]byte, int64) (int, Errno)         { return 0, ENOSYS }
func (f hostFD) writev([][]byte, int64) (int, Errno)        { return 0, ENOSYS }
func (f hostFD) seek(int64, int) (int64, Errno)             { return 0, ENOSYS }
func (f hostFD) stat() (hostStat, Errno)                    { return hostStat{}, ENOSYS }
func (f hostFD) onPseudoFS() (string, bool)                 { return "", false }
func (f hostFD) path() string                               { return "" }
func (f hostFD) isTerminal() bool                           { return false }
func (f hostFD) readDir() ([]hostDirent, Errno)             { return nil, ENOSYS }
func (f hostFD) chmod(uint32) Errno                         { return ENOSYS }
func (f hostFD) utimes(fileTime, fileTime) Errno            { return ENOSYS }
func (f hostFD) truncate(int64) Errno                       { return ENOSYS }
func (f hostFD) allocate(uint32, int64, int64) Errno        { return ENOSYS }
func (f hostFD) sync() Errno                                { return ENOSYS }
func (f hostFD) flock(int) Errno                            { return ENOSYS }
func (f hostFD) poll(uint32) uint32                         { return 0 }
func (f hostFD) ioctl(uint32, []byte) Errno                 { return ENOSYS }
func hostSocket(int) (hostFD, Errno)                        { return noFD, ENOSYS }
func (f hostFD) connect(netip.AddrPort) Errno               { return ENOSYS }
func (f hostFD) sendTo([]byte, netip.AddrPort) (int, Errno) { return 0, ENOSYS }
func (f hostFD) socketError() Errno                         { return ENOSYS }
func (f hostFD) pendingBytes() int                          { return 0 }
func (f hostFD) shutdown(int) Errno                         { return ENOSYS }
func (f hostFD) receiveFrom([]byte, uint32) (int, netip.AddrPort, Errno) {
	return 0, netip.AddrPort{}, ENOSYS
}

// errnoOf translates a host error.
func errnoOf(err error) Errno {
	if err == nil {
		return 0
	}
	return EIO
}
