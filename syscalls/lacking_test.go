package syscalls

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

func TestLacking(t *testing.T) {
	g := newGuest(t)
	assert.Empty(t, g.k.Lacking())
	word := g.room(4)
	g.ok(nr("getpid"))
	g.fails(linux.EBADF, nr("close"), 99) // as on Linux
	g.fails(linux.EPERM, nr("chroot"), g.str("/"))
	for range 3 {
		g.fails(linux.ENOSYS, nr("iopl")+1000)
		g.fails(linux.ENOSYS, nr("futex"), word, 77)
	}
	g.fails(linux.EPERM, nr("chroot"), g.str("/"))
	assert.Equal(t, []Lacking{
		{"chroot", nr("chroot"), "EPERM", 2},
		{"futex", nr("futex"), "ENOSYS", 3},
		{unknown.name, nr("iopl") + 1000, "ENOSYS", 3},
	}, g.k.Lacking())
}
