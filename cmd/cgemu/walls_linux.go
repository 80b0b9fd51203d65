package main

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// startWriter starts another cgemu as the writer. Its standard output and error are ours, and so are the descriptors
// that we have inherited: /dev/fd/63 may be where profiles go.
func startWriter(outFile, shm string) (*writer, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	ours, its := os.NewFile(uintptr(fds[0]), "writer"), os.NewFile(uintptr(fds[1]), "writer")
	defer its.Close()
	p, err := os.StartProcess("/proc/self/exe", []string{writerName, outFile, shm},
		&os.ProcAttr{Files: []*os.File{its, os.Stdout, os.Stderr}})
	if err != nil {
		ours.Close()
		return nil, err
	}
	p.Release() // it ends when the connection does
	return newWriter(ours), nil
}

// closeInherited closes what the process was given besides standard input, output and error: a directory would lead
// out. Our own descriptors all have FD_CLOEXEC.
func closeInherited() {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return
	}
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd <= 2 {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			unix.Close(fd)
		}
	}
}

// opensForWriting reports whether f was opened so that it can be written to.
func opensForWriting(f *os.File) bool {
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	return err == nil && flags&unix.O_ACCMODE != unix.O_RDONLY
}
