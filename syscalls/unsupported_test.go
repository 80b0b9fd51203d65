package syscalls

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
)

func TestUnsupportedCalls(t *testing.T) {
	g := newGuest(t)
	assert.Empty(t, g.k.UnsupportedCalls())
	word := g.room(4)
	g.ok(nr("getpid"))
	g.fails(linux.EBADF, nr("close"), 99) // as on Linux
	g.fails(linux.EPERM, nr("chroot"), g.str("/"))
	for range 3 {
		g.fails(linux.ENOSYS, nr("iopl")+1000)
		g.fails(linux.ENOSYS, nr("futex"), word, 77)
	}
	g.fails(linux.EPERM, nr("chroot"), g.str("/"))
	assert.Equal(t, []task.UnsupportedCall{
		{Name: "chroot", Number: nr("chroot"), Answer: "EPERM", Calls: 2},
		{Name: "futex", Number: nr("futex"), Answer: "ENOSYS", Calls: 3},
		{Name: task.Unknown.Name, Number: nr("iopl") + 1000, Answer: "ENOSYS", Calls: 3},
	}, g.k.UnsupportedCalls())
}
