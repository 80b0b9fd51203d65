//go:build unix

package main

import (
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// namedDescriptors returns the open descriptors beyond the standard ones that args name, as a shell's <(command) does:
// it becomes /dev/fd/63. Those that are to be closed where a program begins are cgemu's own.
func namedDescriptors(args []string) (list []int) {
	for _, arg := range args {
		for _, dir := range [...]string{"/dev/fd/", "/proc/self/fd/"} {
			for _, rest, found := strings.Cut(arg, dir); found; _, rest, found = strings.Cut(rest, dir) {
				digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
				n, err := strconv.Atoi(rest[:digits])
				if err != nil || n <= 2 || slices.Contains(list, n) {
					continue
				}
				if flags, err := unix.FcntlInt(uintptr(n), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
					list = append(list, n)
				}
			}
		}
	}
	return list
}
