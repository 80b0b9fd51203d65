package syscalls

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestIPCPermissions keeps the owner away from what the owner may not do, and nothing is done before that.
func TestIPCPermissions(t *testing.T) {
	const none, writeOnly, readOnly = 0, ipcWrite, ipcRead
	g := newGuest(t)
	buf := g.room(512)
	sem := func(mode uint64) uint64 { return g.ok(nr("semget"), ipcPrivate, 2, mode) }
	semctl, msgctl, shmctl := nr("semctl"), nr("msgctl"), nr("shmctl")

	id := sem(readOnly)
	g.fails(EACCES, semctl, id, 0, semSetval, 7)
	g.fails(EACCES, semctl, id, 0, semSetall, buf)
	require.Zero(t, g.ok(semctl, id, 0, semGetval), "the value that SETVAL may not set")
	g.fails(ERANGE, semctl, 99, 9, semSetval, semMax+1)
	g.fails(EINVAL, semctl, id, 9, semSetval, 1)
	g.ok(semctl, id, 0, ipcStat, buf)

	id = sem(writeOnly)
	g.ok(semctl, id, 1, semSetval, 7)
	for _, cmd := range []uint64{semGetval, semGetpid, semGetncnt, semGetzcnt} {
		g.fails(EACCES, semctl, id, 99, cmd)
	}
	g.fails(EACCES, semctl, id, 0, semGetall, buf)
	g.fails(EACCES, semctl, id, 0, ipcStat, buf)
	g.fails(EACCES, semctl, 1, 0, semStat, buf)
	require.Equal(t, id, g.ok(semctl, 1, 0, semStatAny, buf))

	id = g.ok(nr("msgget"), ipcPrivate, none)
	g.fails(EACCES, msgctl, id, ipcStat, buf)
	g.fails(EACCES, msgctl, 0, msgStat, buf)
	require.Equal(t, id, g.ok(msgctl, 0, msgStatAny, buf))

	id = g.ok(nr("shmget"), ipcPrivate, 4096, none)
	g.fails(EACCES, shmctl, id, ipcStat, buf)
	g.fails(EACCES, shmctl, 0, shmStat, buf)
	require.Equal(t, id, g.ok(shmctl, 0, shmStatAny, buf))
}

// TestIPCSetWhole changes all that IPC_SET names, or nothing.
func TestIPCSetWhole(t *testing.T) {
	g := newGuest(t)
	buf := g.room(512)
	id := g.ok(nr("msgget"), ipcPrivate, 0o600)
	g.ok(nr("msgctl"), id, ipcStat, buf)
	before := g.peek(buf, 120)

	var ds pack
	ds.u32(0)
	ds.u32(g.k.uid)
	ds.u32(g.k.gid + 1) // not the guest's to give
	ds.zero(8)
	ds.u32(0o777)
	ds.zero(64)
	ds.u64(100)
	ds.zero(24)
	g.fails(EPERM, nr("msgctl"), id, ipcSet, g.bytes(ds))
	g.ok(nr("msgctl"), id, ipcStat, buf)
	require.Equal(t, before, g.peek(buf, 120))
}
