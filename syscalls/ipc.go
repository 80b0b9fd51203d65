package syscalls

import (
	"cmp"
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// An ipcObject is what the three kinds have in common.
type ipcObject struct {
	id, key int
	mode    uint32
	ctime   int64
	removed bool
}

func (o *ipcObject) header() *ipcObject { return o }

// An ipcSpace has all objects of System V IPC, and the message queues of POSIX.
type ipcSpace struct {
	shm    ipcIDs[*shmSegment]
	sem    ipcIDs[*semSet]
	msg    ipcIDs[*msgQueue]
	queues map[string]*mqueue // by name
}

func newIPCSpace() *ipcSpace { return &ipcSpace{queues: map[string]*mqueue{}} }

// ipcOf returns the objects of k.
func ipcOf(k *Kernel) *ipcSpace { return k.ipc.(*ipcSpace) }

func (n *ipcSpace) close() {
	for _, s := range n.shm.list {
		s.fd.close()
	}
}

// ipcIDs finds objects of one kind: shared memory, semaphores or queues.
type ipcIDs[T interface {
	header() *ipcObject
	encode(k *Kernel) []byte
}] struct {
	list   []T
	nextID int
}

// get implements shmget(2) and its kin: fits is asked of an object that exists, create makes one.
func (x *ipcIDs[T]) get(t *Thread, key, flags int, fits func(T) bool, create func(ipcObject) (T, linux.Errno)) (uint64, linux.Errno) {
	i := -1
	if key != linux.IPC_PRIVATE {
		i = slices.IndexFunc(x.list, func(o T) bool { return o.header().key == key })
	}
	if i >= 0 {
		o := x.list[i]
		switch {
		case flags&(linux.IPC_CREAT|linux.IPC_EXCL) == linux.IPC_CREAT|linux.IPC_EXCL:
			return 0, linux.EEXIST
		case !fits(o):
			return 0, linux.EINVAL
		}
		return uint64(o.header().id), o.header().allows(uint32(flags))
	}
	if key != linux.IPC_PRIVATE && flags&linux.IPC_CREAT == 0 {
		return 0, linux.ENOENT
	}
	o, e := create(ipcObject{id: x.nextID, key: key, mode: uint32(flags) & 0o777, ctime: t.k.wall() / 1e9})
	if e != 0 {
		return 0, e
	}
	x.nextID++
	x.list = append(x.list, o)
	return uint64(o.header().id), 0
}

// find returns the object with an id.
func (x *ipcIDs[T]) find(id int) (o T, e linux.Errno) {
	i := slices.IndexFunc(x.list, func(o T) bool { return o.header().id == id })
	if i < 0 {
		return o, linux.EINVAL
	}
	return x.list[i], 0
}

// at returns the object with an index, which is what SHM_STAT and its kin take.
func (x *ipcIDs[T]) at(i int) (o T, e linux.Errno) {
	if i < 0 || i >= len(x.list) {
		return o, linux.EINVAL
	}
	return x.list[i], 0
}

// stat writes the status of the object that find has for n to a, if want is allowed, and returns its id.
// IPC_STAT is for ids, SHM_STAT for indexes, SHM_STAT_ANY for indexes and for everybody.
func (x *ipcIDs[T]) stat(t *Thread, find func(int) (T, linux.Errno), n int, want uint32, a emu.Addr) (uint64, linux.Errno) {
	o, e := find(n)
	if e == 0 {
		e = o.header().allows(want)
	}
	if e != 0 {
		return 0, e
	}
	return uint64(o.header().id), t.copyOut(a, o.encode(t.k))
}

// last is the highest index, or 0.
func (x *ipcIDs[T]) last() uint64 { return uint64(max(len(x.list)-1, 0)) }

// remove takes an object out.
func (x *ipcIDs[T]) remove(id int) {
	x.list = slices.DeleteFunc(x.list, func(o T) bool {
		if o.header().id == id {
			o.header().removed = true
		}
		return o.header().id == id
	})
}

// allows reports whether its owner, who is everybody, may do what the owner's bits in want say.
func (o *ipcObject) allows(want uint32) linux.Errno {
	if want>>6&7&^(o.mode>>6) != 0 {
		return linux.EACCES
	}
	return 0
}

// Rights in the place of the owner's.
const (
	ipcRead  = 0o400
	ipcWrite = 0o200
)

// permissions is struct ipc64_perm (include/uapi/asm-generic/ipcbuf.h).
func (o *ipcObject) permissions(k *Kernel) pack {
	var b pack
	b.u32(uint32(o.key))
	b.u32(k.uid)
	b.u32(k.gid)
	b.u32(k.uid)
	b.u32(k.gid)
	b.u32(o.mode)
	b.zero(24)
	return b
}

// set does what IPC_SET does to the permissions at a.
func (o *ipcObject) set(t *Thread, a emu.Addr) linux.Errno {
	b, e := t.copyIn(a, 48)
	if e != 0 {
		return e
	}
	if e := cmp.Or(allAre(t.k.uid, le32(b[4:])), allAre(t.k.gid, le32(b[8:]))); e != 0 {
		return e
	}
	o.mode = o.mode&^0o777 | le32(b[20:])&0o777
	o.ctime = t.k.wall() / 1e9
	return 0
}
