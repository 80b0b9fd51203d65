package mem

import (
	"encoding/binary"
	"os"

	"golang.org/x/sys/windows"
)

// fileSize returns how long f is, which is mapped: GetFileInformationByHandleEx, FILE_STANDARD_INFO. That is asked of
// every mapped file after each system call, and what Stat finds out besides takes longer, most of all on Wine, which
// asks another process for the volume.
func fileSize(f *os.File) (uint64, error) {
	var info struct {
		_        [0]uint64 // the host wants it aligned
		standard [24]byte
	}
	err := windows.GetFileInformationByHandleEx(windows.Handle(f.Fd()), windows.FileStandardInfo, &info.standard[0], uint32(len(info.standard)))
	return binary.LittleEndian.Uint64(info.standard[8:]), err
}
