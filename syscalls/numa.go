package syscalls

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// Memory policies (numa(7)) of a machine with one node, number 0, on which all memory is: policies of threads are
// remembered, those of mappings checked.

// Policies of set_mempolicy(2), and flags that come with them.
const (
	mpolDefault = iota
	mpolPreferred
	mpolBind
	mpolInterleave
	mpolLocal
	mpolPreferredMany
	mpolWeightedInterleave

	mpolNumaBalancing = 1 << 13
	mpolRelativeNodes = 1 << 14
	mpolStaticNodes   = 1 << 15
	mpolFlags         = mpolNumaBalancing | mpolRelativeNodes | mpolStaticNodes
)

// maxNodes is how many nodes the kernel's sets have room for (CONFIG_NODES_SHIFT).
const maxNodes = 1024

// A nodeSet says which nodes a set of the guest's has: ours, and any that is not there.
type nodeSet struct{ ours, others bool }

// nodesAt reads a set of n-1 nodes.
func nodesAt(t *task.Thread, at emu.Addr, n uint64) (set nodeSet, e linux.Errno) {
	if n--; n == 0 || n == 1<<64-1 || at == 0 {
		return set, 0
	}
	if n > 8*emu.PageSize {
		return set, linux.EINVAL
	}
	b, e := t.CopyIn(at, int((n+63)/64*8))
	if e != 0 {
		return set, e
	}
	for i := range n {
		switch on := b[i/8]>>(i%8)&1 != 0; {
		case !on:
		case i >= maxNodes:
			return set, linux.EINVAL
		case i == 0:
			set.ours = true
		default:
			set.others = true
		}
	}
	return set, 0
}

// policy checks a policy, and returns what the kernel makes of it.
func policy(t *task.Thread, mode uint32, at emu.Addr, n uint64) (task.MemoryPolicy, linux.Errno) {
	flags := mode & mpolFlags
	kind := mode &^ mpolFlags
	both := flags&(mpolStaticNodes|mpolRelativeNodes) == mpolStaticNodes|mpolRelativeNodes
	if kind > mpolWeightedInterleave || both || flags&mpolNumaBalancing != 0 && kind != mpolBind && kind != mpolPreferredMany {
		return task.MemoryPolicy{}, linux.EINVAL
	}
	nodes, e := nodesAt(t, at, n)
	if e != 0 {
		return task.MemoryPolicy{}, e
	}
	none := nodes == nodeSet{}
	switch {
	case kind == mpolDefault && none:
		return task.MemoryPolicy{}, 0
	case kind == mpolLocal && none && flags == 0, kind == mpolPreferred && none && flags == 0:
		return task.MemoryPolicy{Mode: mpolLocal}, 0
	case kind == mpolDefault, kind == mpolLocal, !nodes.ours:
		return task.MemoryPolicy{}, linux.EINVAL
	}
	return task.MemoryPolicy{Mode: mode, Node: true}, 0
}

// sysSetMempolicy implements set_mempolicy(2).
func sysSetMempolicy(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	p, e := policy(t, a.U32(0), a.Addr(1), a.Uint(2))
	if e == 0 {
		t.Sched.Memory = p
	}
	return 0, e
}

// sysGetMempolicy implements get_mempolicy(2).
func sysGetMempolicy(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	const node, addr, allowed = 1, 2, 4
	mode, nodes, room, at, flags := a.Addr(0), a.Addr(1), a.Uint(2), a.Addr(3), a.Uint(4)
	p := t.Sched.Memory
	switch {
	case flags&^(node|addr|allowed) != 0, nodes != 0 && room < 1, flags&allowed != 0 && flags != allowed:
		return 0, linux.EINVAL
	case flags&allowed != 0:
		p = task.MemoryPolicy{Node: true}
	case flags&addr != 0:
		if t.Process.Mem.VMA(at) == nil {
			return 0, linux.EFAULT
		}
		p = task.MemoryPolicy{} // also the number of the node
	case at != 0:
		return 0, linux.EINVAL
	case flags&node != 0:
		if kind := p.Mode &^ mpolFlags; kind != mpolInterleave && kind != mpolWeightedInterleave {
			return 0, linux.EINVAL
		}
		p = task.MemoryPolicy{} // the next one
	}
	if mode != 0 && flags&allowed == 0 {
		if e := t.Out32(mode, p.Mode); e != 0 {
			return 0, e
		}
	}
	if nodes == 0 {
		return 0, 0
	}
	size := (room - 1 + 63) / 64 * 8
	if size > emu.PageSize {
		return 0, linux.EINVAL
	}
	set := make([]byte, size)
	if len(set) > 0 && p.Node {
		set[0] = 1
	}
	return 0, t.CopyOut(nodes, set)
}

// sysMbind implements mbind(2).
func sysMbind(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	const strict, move, moveAll = 1, 2, 4
	lo, n, flags := a.Addr(0), a.Uint(1), a.U32(5)
	switch {
	case flags&^(strict|move|moveAll) != 0:
		return 0, linux.EINVAL
	case flags&moveAll != 0:
		return 0, linux.EPERM
	case !lo.PageAligned():
		return 0, linux.EINVAL
	}
	if _, e := policy(t, a.U32(2), a.Addr(3), a.Uint(4)); e != 0 {
		return 0, e
	}
	if lo+emu.Addr(n).PageUp() < lo {
		return 0, linux.EINVAL
	}
	if wholeRange(t, lo, n) != 0 {
		return 0, linux.EFAULT
	}
	return 0, 0
}

// sysMovePages implements move_pages(2): all pages are where they may be.
func sysMovePages(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	const move, moveAll = 2, 4
	n, pages, nodes, status, flags := a.Uint(1), a.Addr(2), a.Addr(3), a.Addr(4), a.U32(5)
	switch {
	case flags&^(move|moveAll) != 0:
		return 0, linux.EINVAL
	case flags&moveAll != 0:
		return 0, linux.EPERM
	}
	p, e := processOrOwn(t, a.Int(0))
	if e != 0 {
		return 0, e
	}
	for i := range emu.Addr(n) {
		at, e := t.In64(pages + 8*i)
		if e != 0 {
			return 0, e
		}
		if nodes != 0 {
			switch to, e := t.In32(nodes + 4*i); {
			case e != 0:
				return 0, e
			case to != 0:
				return 0, linux.ENODEV
			}
		}
		var where uint32
		if p.Mem.VMA(emu.Addr(at)) == nil {
			where = ^uint32(linux.EFAULT) + 1
		}
		if e := t.Out32(status+4*i, where); e != 0 {
			return 0, e
		}
	}
	return 0, 0
}

// sysMigratePages implements migrate_pages(2): there is nowhere to go.
func sysMigratePages(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	if _, e := nodesAt(t, a.Addr(2), a.Uint(1)); e != 0 {
		return 0, e
	}
	to, e := nodesAt(t, a.Addr(3), a.Uint(1))
	if e != 0 {
		return 0, e
	}
	if _, e = processOrOwn(t, a.Int(0)); e == 0 && to.others {
		e = linux.EPERM
	}
	return 0, e
}

// processOrOwn is the process with a number, t's own for 0.
func processOrOwn(t *task.Thread, pid int) (*task.Process, linux.Errno) {
	if pid == 0 {
		return t.Process, 0
	}
	p := t.Kernel.Process(pid)
	if p == nil || p.Exited {
		return nil, linux.ESRCH
	}
	return p, 0
}
