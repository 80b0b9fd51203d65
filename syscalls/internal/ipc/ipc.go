package ipc

import (
	"cmp"
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
)

// An Object is what shared memory segments, semaphore sets and message queues of System V have in common.
type Object struct {
	// ID identifies the object in calls, Key is what programs agree on to find it (IPC_PRIVATE for none).
	ID, Key int
	// Mode are its permission bits. All processes are those of its owner, so only the owner's count.
	Mode uint32
	// Ctime is when it was made or changed by IPC_SET, in seconds since 1970.
	Ctime int64
	// removed says that the object is gone. Those who wait for it get EIDRM.
	removed bool
}

func (o *Object) header() *Object { return o }

// A Namespace has all objects of System V IPC, and the POSIX message queues, of a kernel.
type Namespace struct {
	Shm    IDs[*ShmSegment]
	Sem    IDs[*SemSet]
	Msg    IDs[*SysVQueue]
	Queues map[string]*Queue // POSIX queues by name
	// queueBytes is what POSIX queues may take, those without a name, too (RLIMIT_MSGQUEUE).
	queueBytes uint64
	// undo has the lists of processes that have one.
	undo map[*task.Process]*UndoList
}

// NewNamespace returns a namespace without objects.
func NewNamespace() *Namespace {
	return &Namespace{Queues: map[string]*Queue{}, undo: map[*task.Process]*UndoList{}}
}

// NamespaceOf returns the objects of k.
func NamespaceOf(k *task.Kernel) *Namespace { return k.IPC.(*Namespace) }

// Close frees the memory of shared segments.
func (n *Namespace) Close() {
	for _, s := range n.Shm.List {
		s.FD.Close()
	}
}

// How many objects of System V there may be of a kind (SHMMNI, MSGMNI, SEMMNI; ENOSPC).
const (
	MaxShm = 4096
	MaxMsg = 32000
	MaxSem = 32000
)

// IDs finds the objects of one kind. Ids are given in order and never again.
type IDs[T interface {
	header() *Object
	encode(k *task.Kernel) []byte
}] struct {
	// List has the objects in order of creation.
	List   []T
	nextID int
}

// Get implements shmget(2), semget(2) and msgget(2). fits reports whether an object that exists is what the caller asks
// for; create makes a new one, of which there are most.
func (x *IDs[T]) Get(t *task.Thread, key, flags, most int, fits func(T) bool, create func(Object) (T, linux.Errno)) (uint64, linux.Errno) {
	i := -1
	if key != linux.IPC_PRIVATE {
		i = slices.IndexFunc(x.List, func(o T) bool { return o.header().Key == key })
	}
	if i >= 0 {
		o := x.List[i]
		switch {
		case flags&(linux.IPC_CREAT|linux.IPC_EXCL) == linux.IPC_CREAT|linux.IPC_EXCL:
			return 0, linux.EEXIST
		case !fits(o):
			return 0, linux.EINVAL
		}
		return uint64(o.header().ID), o.header().Allows(uint32(flags))
	}
	if key != linux.IPC_PRIVATE && flags&linux.IPC_CREAT == 0 {
		return 0, linux.ENOENT
	}
	if len(x.List) >= most {
		return 0, linux.ENOSPC
	}
	o, e := create(Object{ID: x.nextID, Key: key, Mode: uint32(flags) & 0o777, Ctime: t.Kernel.Wall() / 1e9})
	if e != 0 {
		return 0, e
	}
	x.nextID++
	x.List = append(x.List, o)
	return uint64(o.header().ID), 0
}

// Find returns the object with an id.
func (x *IDs[T]) Find(id int) (o T, e linux.Errno) {
	i := slices.IndexFunc(x.List, func(o T) bool { return o.header().ID == id })
	if i < 0 {
		return o, linux.EINVAL
	}
	return x.List[i], 0
}

// At returns the object with an index, which is what SHM_STAT and its kin take.
func (x *IDs[T]) At(i int) (o T, e linux.Errno) {
	if i < 0 || i >= len(x.List) {
		return o, linux.EINVAL
	}
	return x.List[i], 0
}

// Stat writes the status of the object that find returns for n to a, if want is allowed, and returns its id. IPC_STAT
// takes ids, SHM_STAT indexes, and SHM_STAT_ANY indexes without asking for a right.
func (x *IDs[T]) Stat(t *task.Thread, find func(int) (T, linux.Errno), n int, want uint32, a emu.Addr) (uint64, linux.Errno) {
	o, e := find(n)
	if e == 0 {
		e = o.header().Allows(want)
	}
	if e != 0 {
		return 0, e
	}
	return uint64(o.header().ID), t.CopyOut(a, o.encode(t.Kernel))
}

// Last is the highest index, 0 if there is none.
func (x *IDs[T]) Last() uint64 { return uint64(max(len(x.List)-1, 0)) }

// Remove removes the object with an id.
func (x *IDs[T]) Remove(id int) {
	x.List = slices.DeleteFunc(x.List, func(o T) bool {
		if o.header().ID == id {
			o.header().removed = true
		}
		return o.header().ID == id
	})
}

// Allows is EACCES unless the owner, which everybody is, may do what the bits of the owner in want say.
func (o *Object) Allows(want uint32) linux.Errno {
	if want>>6&7&^(o.Mode>>6) != 0 {
		return linux.EACCES
	}
	return 0
}

// Rights to ask Object.Allows for.
const (
	Read  = 0o400
	Write = 0o200
)

// permissions is struct ipc64_perm (include/uapi/asm-generic/ipcbuf.h).
func (o *Object) permissions(k *task.Kernel) linux.Pack {
	var b linux.Pack
	b.U32(uint32(o.Key))
	b.U32(k.UID)
	b.U32(k.GID)
	b.U32(k.UID)
	b.U32(k.GID)
	b.U32(o.Mode)
	b.Zero(24)
	return b
}

// SetPermissions does IPC_SET with the struct ipc64_perm at a.
func (o *Object) SetPermissions(t *task.Thread, a emu.Addr) linux.Errno {
	b, e := t.CopyIn(a, 48)
	if e != 0 {
		return e
	}
	if e := cmp.Or(files.AllAre(t.Kernel.UID, linux.Uint32(b[4:])), files.AllAre(t.Kernel.GID, linux.Uint32(b[8:]))); e != 0 {
		return e
	}
	o.Mode = o.Mode&^0o777 | linux.Uint32(b[20:])&0o777
	o.Ctime = t.Kernel.Wall() / 1e9
	return 0
}
