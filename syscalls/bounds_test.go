package syscalls

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/net"
	"github.com/cgemu/cgemu/syscalls/internal/task"
)

// TestNothingStays makes and drops many things, and counts what the kernel keeps of them.
func TestNothingStays(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(g *guest)
		kept func(k *task.Kernel) int
	}{
		{"threads", func(g *guest) {
			o := newThread(g.p)
			o.Exit(0)
		}, func(k *task.Kernel) int { return len(k.First.Threads) + len(k.Threads) }},
		{"inodes of pipes", func(g *guest) {
			fds := g.room(8)
			g.ok(nr("pipe"), fds)
			g.ok(nr("close_range"), 3, 1<<32-1, 0)
		}, func(k *task.Kernel) int { return len(files.SystemOf(k).Inodes.Numbers) }},
		{"files", func(g *guest) {
			g.ok(nr("write"), g.ok(nr("open"), g.str("f"), linux.O_CREAT|linux.O_RDWR, 0o600), g.str("x"), 1)
			g.ok(nr("unlink"), g.str("f"))
			g.ok(nr("close_range"), 3, 1<<32-1, 0)
			g.ok(nr("close"), g.ok(nr("open"), g.str("f"), linux.O_CREAT|linux.O_RDWR, 0o600))
			g.ok(nr("unlink"), g.str("f"))
			g.ok(nr("write"), g.ok(nr("memfd_create"), g.str("m"), 0), g.str("x"), 1)
			g.ok(nr("close_range"), 3, 1<<32-1, 0)
		}, func(k *task.Kernel) int {
			return len(files.SystemOf(k).Inodes.Numbers) + len(files.SystemOf(k).Inodes.Times) + len(files.SystemOf(k).Inodes.Opened)
		}},
		{"inodes of sockets", func(g *guest) {
			g.ok(nr("socket"), linux.AF_INET, linux.SOCK_STREAM, 0)
			g.ok(nr("close_range"), 3, 1<<32-1, 0)
		}, func(k *task.Kernel) int { return len(files.SystemOf(k).Inodes.Numbers) }},
		{"watches", func(g *guest) {
			fds, event := g.room(8), g.bytes(make([]byte, 12))
			ep := g.ok(nr("epoll_create1"), 0)
			g.ok(nr("pipe"), fds)
			g.ok(nr("epoll_ctl"), ep, linux.EPOLL_CTL_ADD, ep+1, event)
			g.ok(nr("close_range"), 3, 1<<32-1, 0)
		}, func(k *task.Kernel) int { return len(files.SystemOf(k).Epolls) }},
		{"sockets that hold one another", func(g *guest) {
			g.passItself()
			g.ok(nr("close_range"), 3, 1<<32-1, 0)
		}, func(k *task.Kernel) int { return net.StackOf(k).Unix.All.Len() / (4 * net.MinSuspects) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newGuest(t)
			used := g.used
			tt.do(g)
			before := tt.kept(g.k)
			for range 200 {
				g.used = used
				tt.do(g)
			}
			assert.LessOrEqual(t, tt.kept(g.k), before)
		})
	}
}

// passItself sends both ends of a socket pair over it.
func (g *guest) passItself() {
	fds := g.room(8)
	g.ok(nr("socketpair"), linux.AF_UNIX, linux.SOCK_STREAM, 0, fds)
	var control, header linux.Pack
	control.U64(net.CmsgHeader + 8)
	control.U32(linux.SOL_SOCKET)
	control.U32(linux.SCM_RIGHTS)
	control.U32(3)
	control.U32(4)
	text := g.str("x")
	for _, x := range []uint64{0, 0, g.bytes(linux.U64s(text, 1)), 1, g.bytes(control), uint64(len(control)), 0} {
		header.U64(x)
	}
	g.ok(nr("sendmsg"), 3, g.bytes(header), 0)
}

// TestReachable keeps a descriptor in flight that can still be received, however often others are dropped.
func TestReachable(t *testing.T) {
	g := newGuest(t)
	g.passItself()
	g.ok(nr("close"), 3)
	used := g.used
	for range 10 * net.MinSuspects {
		g.used = used
		fds := g.room(8)
		g.ok(nr("socketpair"), linux.AF_UNIX, linux.SOCK_STREAM, 0, fds)
		g.ok(nr("dup"), 3)
		g.ok(nr("close"), 3)
		g.ok(nr("close_range"), 5, 1<<32-1, 0)
	}
	f, _ := files.Of(g.th).FDs.File(4)
	assert.Len(t, f.(*net.UnixSocket).Queue.Packets, 1)
}

// TestLowestFD compares the search for the lowest free descriptor with a plain one.
func TestLowestFD(t *testing.T) {
	g := newGuest(t)
	ft := files.NewFDTable()
	f := &fileBaseFile{}
	x := uint64(1)
	for range 20_000 {
		x = x*6364136223846793005 + 1442695040888963407
		fd := int(x>>33) % 9000
		if _, e := ft.File(fd); e == 0 {
			ft.Close(g.k, fd)
		} else {
			ft.Set(fd, f, false)
		}
		low := int(x>>20) % 9000
		want := low
		for want < len(ft.Entries) && ft.Entries[want].File != nil {
			want++
		}
		require.Equal(t, want, ft.Lowest(low))
	}
	for fd := range 9000 {
		if _, e := ft.File(fd); e != 0 {
			ft.Set(fd, f, false)
		}
	}
	assert.Equal(t, 9000, ft.Lowest(0))
}

// A fileBaseFile is a file of no abilities.
type fileBaseFile struct{ files.FileBase }

// TestSharedDirectory checks that a process and its child have one descriptor of their working directory.
func TestSharedDirectory(t *testing.T) {
	g := newGuest(t)
	fd := files.Of(g.th).Cwd.FD
	child := files.Of(g.th).FSInfo.Copy()
	assert.Equal(t, fd, child.Cwd.FD)
	g.ok(nr("mkdir"), g.str("d"), 0o700)
	g.ok(nr("chdir"), g.str("d"))
	_, e := fd.Stat()
	assert.Zero(t, e, "it is the child's still")
	child.LeaveCwd()
	_, e = fd.Stat()
	assert.Equal(t, linux.EBADF, e)
}

// TestUmasks lets two kernels make files at once, with different umasks.
func TestUmasks(t *testing.T) {
	own := statusLine(t, "Umask:")
	var wait sync.WaitGroup
	for _, umask := range []uint64{0, 0o22, 0o77} {
		g := newGuest(t)
		wait.Go(func() {
			g.ok(nr("umask"), umask)
			used := g.used
			for i := range 200 {
				g.used = used
				name := fmt.Sprint("f", i)
				g.ok(nr("close"), g.ok(nr("open"), g.str(name), linux.O_CREAT|linux.O_WRONLY, 0o666))
				st, err := os.Stat(filepath.Join(g.dir, name))
				if assert.NoError(t, err) && !assert.EqualValues(t, 0o666&^umask, st.Mode()) {
					return
				}
			}
		})
	}
	wait.Wait()
	assert.Equal(t, own, statusLine(t, "Umask:"))
}

// statusLine is the line of our own /proc/self/status that begins with name.
func statusLine(t *testing.T, name string) string {
	b, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(b), name)
	line, _, _ := strings.Cut(rest, "\n")
	return line
}
