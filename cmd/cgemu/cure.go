package main

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"syscall"

	"github.com/cgemu/cgemu/loader"
	"github.com/cgemu/cgemu/syscalls"
)

// cures say what to do about errors that come of the host's limits, by errno.
var cures = map[syscall.Errno]func() string{
	syscall.EMFILE: func() string { return limited("ulimit -n", "open files", "") },
	syscall.ENFILE: func() string { return "all processes of this host together have too many files open" },
	syscall.EFBIG:  func() string { return limited("ulimit -f", "file sizes", " bytes") },
	syscall.ENOSYS: func() string { return "Linux 5.9 or later is needed, and that nothing filters system calls" },
}

// cure returns what to do about an error, in parentheses, if that is known.
func cure(err error) string {
	if errno := hostErrno(err); errno != 0 && cures[errno] != nil {
		return " (" + cures[errno]() + ")"
	}
	var bind *syscalls.BindError
	if errors.As(err, &bind) && bind.Missing() {
		return bindCure(bind)
	}
	return foreignCure(err, syscalls.HasOwnRoot)
}

// bindCure says how the directory is made that --bind does not find.
func bindCure(b *syscalls.BindError) string {
	switch {
	case b.OnHost:
		return fmt.Sprintf(" (mkdir -p %s makes it)", b.Host)
	case b.Root != "":
		return fmt.Sprintf(" (mkdir -p %s makes it; with --overlay it is made in memory)", path.Join(filepath.ToSlash(b.Root), b.Dir))
	}
	return ""
}

// foreignCure returns what to do about a program that cannot be started if foreign says that the host is not Linux, so
// that it has neither programs nor libraries for it.
func foreignCure(err error, foreign bool) string {
	var bad *loader.Error
	switch {
	case !foreign || !errors.As(err, &bad):
		return ""
	case bad.Interp != "":
		return " (this host is not Linux, and has no libraries for its programs: --image=FILE takes those of a container image; or run cgemu in a container or in WSL2)"
	case errors.Is(err, loader.ErrFormat):
		return " (this host is not Linux: build the program for Linux on x86-64, or take one from a container image by --image=FILE; or run cgemu in a container or in WSL2)"
	}
	return ""
}

// hostErrno returns the errno that an error is, 0 if it is none.
func hostErrno(err error) syscall.Errno {
	var guest syscalls.Errno
	var host syscall.Errno
	switch {
	case errors.As(err, &host):
		return host
	case errors.As(err, &guest):
		return syscall.Errno(guest)
	}
	return 0
}

// limited names a limit of resources and its value.
func limited(command, what, unit string) string {
	n, ok := limits[command]()
	if !ok {
		return fmt.Sprintf("the limit of %s is reached: see %s", what, command)
	}
	return fmt.Sprintf("the limit of %s, %s, is %d%s", what, command, n, unit)
}
