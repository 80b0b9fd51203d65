//go:build !portable

package syscalls

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"

	"github.com/cgemu/cgemu/syscalls/internal/host"
)

// TestPlaceWithoutDirectory checks that our own working directory is never where a guest's path begins.
func TestPlaceWithoutDirectory(t *testing.T) {
	assert.Panics(t, func() { host.Place{Dir: host.NoFD, Path: "relative"}.FD() })
	assert.Equal(t, unix.AT_FDCWD, host.Place{Dir: host.NoFD, Path: "/absolute"}.FD())
	assert.Equal(t, 5, host.Place{Dir: 5, Path: "relative"}.FD())
}
