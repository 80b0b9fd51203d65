package mem

import (
	"os"

	"golang.org/x/sys/windows"
)

func pagesAvailable() error { return nil }

// reservePages reserves addresses. The host gives memory for what is committed.
func reservePages(size uintptr) (uintptr, error) {
	return windows.VirtualAlloc(0, size, windows.MEM_RESERVE, windows.PAGE_NOACCESS)
}

// guardPages has nothing to do: nobody can touch what is not committed.
func guardPages(_, _ uintptr) error { return nil }

func releasePages(p, _ uintptr) error { return windows.VirtualFree(p, 0, windows.MEM_RELEASE) }

// commitPages makes memory of n bytes at p. What is memory already stays as it is.
func commitPages(p, n uintptr) error {
	_, err := windows.VirtualAlloc(p, n, windows.MEM_COMMIT, windows.PAGE_READWRITE)
	return err
}

// dropPages gives memory back.
func dropPages(p, n uintptr) error { return windows.VirtualFree(p, n, windows.MEM_DECOMMIT) }

func identifyFile(f *os.File) (id backingID, ok bool) {
	var info windows.ByHandleFileInformation
	h := windows.Handle(f.Fd())
	// What is written to a pipe, if it is nothing, ends it for its reader.
	if kind, err := windows.GetFileType(h); err != nil || kind != windows.FILE_TYPE_DISK {
		return id, false
	}
	if windows.GetFileInformationByHandle(h, &info) != nil {
		return id, false
	}
	id.fileID = fileID{uint64(info.VolumeSerialNumber) + 1, uint64(info.FileIndexHigh)<<32 | uint64(info.FileIndexLow)}
	// What a handle may be used for is found out by writing nothing with it.
	var n uint32
	if windows.WriteFile(h, nil, &n, nil) == nil {
		id.mode = os.O_RDWR
	}
	return id, true
}

func duplicate(f *os.File) *os.File {
	p := windows.CurrentProcess()
	var h windows.Handle
	if windows.DuplicateHandle(p, windows.Handle(f.Fd()), p, &h, 0, false, windows.DUPLICATE_SAME_ACCESS) != nil {
		return nil
	}
	return os.NewFile(uintptr(h), f.Name())
}
