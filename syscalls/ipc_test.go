package syscalls

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/syscalls/internal/ipc"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// TestIPCPermissions keeps the owner away from what the owner may not do, and nothing is done before that.
func TestIPCPermissions(t *testing.T) {
	const none, writeOnly, readOnly = 0, ipc.Write, ipc.Read
	g := newGuest(t)
	buf := g.room(512)
	sem := func(mode uint64) uint64 { return g.ok(nr("semget"), linux.IPC_PRIVATE, 2, mode) }
	semctl, msgctl, shmctl := nr("semctl"), nr("msgctl"), nr("shmctl")

	id := sem(readOnly)
	g.fails(linux.EACCES, semctl, id, 0, linux.SETVAL, 7)
	g.fails(linux.EACCES, semctl, id, 0, linux.SETALL, buf)
	require.Zero(t, g.ok(semctl, id, 0, linux.GETVAL), "the value that SETVAL may not set")
	g.fails(linux.ERANGE, semctl, 99, 9, linux.SETVAL, ipc.SemMax+1)
	g.fails(linux.EINVAL, semctl, id, 9, linux.SETVAL, 1)
	g.ok(semctl, id, 0, linux.IPC_STAT, buf)

	id = sem(writeOnly)
	g.ok(semctl, id, 1, linux.SETVAL, 7)
	for _, cmd := range []uint64{linux.GETVAL, linux.GETPID, linux.GETNCNT, linux.GETZCNT} {
		g.fails(linux.EACCES, semctl, id, 99, cmd)
	}
	g.fails(linux.EACCES, semctl, id, 0, linux.GETALL, buf)
	g.fails(linux.EACCES, semctl, id, 0, linux.IPC_STAT, buf)
	g.fails(linux.EACCES, semctl, 1, 0, linux.SEM_STAT, buf)
	require.Equal(t, id, g.ok(semctl, 1, 0, linux.SEM_STAT_ANY, buf))

	id = g.ok(nr("msgget"), linux.IPC_PRIVATE, none)
	g.fails(linux.EACCES, msgctl, id, linux.IPC_STAT, buf)
	g.fails(linux.EACCES, msgctl, 0, linux.MSG_STAT, buf)
	require.Equal(t, id, g.ok(msgctl, 0, linux.MSG_STAT_ANY, buf))

	id = g.ok(nr("shmget"), linux.IPC_PRIVATE, 4096, none)
	g.fails(linux.EACCES, shmctl, id, linux.IPC_STAT, buf)
	g.fails(linux.EACCES, shmctl, 0, linux.SHM_STAT, buf)
	require.Equal(t, id, g.ok(shmctl, 0, linux.SHM_STAT_ANY, buf))
}

// TestIPCSetWhole changes all that IPC_SET names, or nothing.
func TestIPCSetWhole(t *testing.T) {
	g := newGuest(t)
	buf := g.room(512)
	id := g.ok(nr("msgget"), linux.IPC_PRIVATE, 0o600)
	g.ok(nr("msgctl"), id, linux.IPC_STAT, buf)
	before := g.peek(buf, 120)

	var ds linux.Pack
	ds.U32(0)
	ds.U32(g.k.UID)
	ds.U32(g.k.GID + 1) // not the guest's to give
	ds.Zero(8)
	ds.U32(0o777)
	ds.Zero(64)
	ds.U64(100)
	ds.Zero(24)
	g.fails(linux.EPERM, nr("msgctl"), id, linux.IPC_SET, g.bytes(ds))
	g.ok(nr("msgctl"), id, linux.IPC_STAT, buf)
	require.Equal(t, before, g.peek(buf, 120))
}
