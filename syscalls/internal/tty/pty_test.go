package tty

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// TestTypedAhead fills a pseudoterminal from both sides: it takes no more than it has room for, and keeps what it took.
func TestTypedAhead(t *testing.T) {
	const at = emu.Addr(0x20000000)
	k := task.NewKernel(task.Config{ChecksAccesses: true}, nil)
	k.TTY = &Driver{}
	th, err := k.FirstThread(nil)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, th.Process.Mem.Close()) })
	require.NoError(t, th.Process.Mem.Map(mem.VMA{Lo: at, Hi: at + 4096, Prot: mem.Read | mem.Write}, nil))
	require.Zero(t, th.CopyOut(at, []byte(strings.Repeat("x", 1000))))

	f, e := openPtmx(th, linux.O_RDWR|linux.O_NONBLOCK)
	require.Zero(t, e)
	m := f.(*PtyMaster)
	m.Pty.locked = false
	f, e = m.Pty.openSlave(th, linux.O_RDWR|linux.O_NOCTTY|linux.O_NONBLOCK)
	require.Zero(t, e)
	s := f.(*PtySlave)
	m.Pty.lflag = linux.ECHO
	write := func() (n int) {
		for {
			got, e := m.Write(th, []uio.Iovec{uio.Single(at, 1000)}, -1)
			if e != 0 {
				return n
			}
			n += int(got)
		}
	}
	assert.Equal(t, lineMax+typeaheadMax, write())
	assert.Len(t, m.Pty.out, lineMax, "what is not taken is not echoed")
	assert.Zero(t, m.Poll(th)&linux.POLLOUT)
	n, e := s.Read(th, []uio.Iovec{uio.Single(at, 1000)}, -1)
	require.Zero(t, e)
	assert.EqualValues(t, 1000, n)
	assert.Equal(t, 1000, write())
	for range 100 {
		m.Pty.flushInput()
		write()
	}
	assert.Len(t, m.Pty.out, outMax)
}
