//go:build linux && amd64 && !portable

package syscalls_test

// hostDiffers has no program: this is Linux's own host layer.
var hostDiffers map[string]struct {
	lines int
	why   string
}
