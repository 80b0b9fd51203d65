package syscalls

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"
)

// TestPlaceWithoutDirectory checks that our own working directory is never where a guest's path begins.
func TestPlaceWithoutDirectory(t *testing.T) {
	assert.Panics(t, func() { place{dir: noFD, path: "relative"}.fd() })
	assert.Equal(t, unix.AT_FDCWD, place{dir: noFD, path: "/absolute"}.fd())
	assert.Equal(t, 5, place{dir: 5, path: "relative"}.fd())
}
