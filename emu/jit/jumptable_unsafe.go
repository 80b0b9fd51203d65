//go:build linux && amd64

package jit

import (
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
)

// A jumpTable maps guest addresses to generated code: entry a is the host address an indirect jump to a continues at.
// It is an array of one pointer for every guest address below maxCode, made accessible piece by piece where there is
// code. The directory gives the table's address to targets below maxCode only.
//
// A lookup needs no compare: jmp [table+target*8]. Entries of addresses where there is nothing to continue at hold the
// address of the miss stub, those of a page without any others hold 0, as pages do that nobody has written to. A jump
// there faults, as does one whose target lies outside of all pieces, and every lookup while the table is withdrawn,
// which is how Interrupt stops indirect jumps.
type jumpTable struct {
	base   uintptr
	pieces pieces
	miss   uint64
}

const (
	// maxCode is the end of the guest addresses that the table has entries for. Jumps to code above it go through Go.
	maxCode emu.Addr = 1 << 37
	// pieceSize is that of a piece in bytes: 64 KiB of guest code.
	pieceSize = 512 << 10
	// tablePage is that of the pages whose entries are all 0, or none.
	tablePage = 4096
	// tableSize is as much as a guest's memory of 1 TiB takes, and its shadow stack: each fits where another was.
	tableSize = uintptr(maxCode)*8 + mem.Guard + mem.GuardAbove
	// withdrawn replaces the table's address to make lookups fault: not canonical.
	withdrawn = 1 << 62
)

// reserve gives the table its addresses.
func (t *jumpTable) reserve() error {
	p, err := rawMmap(0, tableSize, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE, -1)
	if err != nil {
		return fmt.Errorf("jit: reserving the jump table (is there a limit, ulimit -v?): %w", err)
	}
	t.base, t.pieces = p, newPieces(p, tableSize, pieceSize)
	t.useSmallPages()
	return nil
}

// useSmallPages asks for that, as few entries of a piece are in use.
func (t *jumpTable) useSmallPages() {
	unix.Syscall(unix.SYS_MADVISE, t.base, tableSize, unix.MADV_NOHUGEPAGE)
}

// release gives them back, and what the table holds.
func (t *jumpTable) release() {
	t.pieces.release()
	t.base = 0
}

// set makes indirect jumps to a, which lies below maxCode, continue at host address to. lost says that for want of
// memory all others miss now.
func (t *jumpTable) set(a emu.Addr, to uint64) (lost bool, err error) {
	if piece := uintptr(a) * 8 / pieceSize; !t.pieces.has(piece) {
		lost, err = t.pieces.add(piece)
		if lost {
			t.useSmallPages()
		}
		if err != nil {
			return lost, fmt.Errorf("jit: jump table: %w", err)
		}
	}
	page, i := t.page(a)
	page[i] = to // not read first: that would map a page of zeros, which a write replaces
	if other := i ^ 1; page[other] == 0 {
		for k := range page {
			page[k] = t.miss
		}
		page[i] = to
	}
	return lost, nil
}

// clear makes indirect jumps to a, which set had led somewhere, miss again.
func (t *jumpTable) clear(a emu.Addr) {
	if t.pieces.has(uintptr(a) * 8 / pieceSize) {
		page, i := t.page(a)
		page[i] = t.miss
	}
}

// page returns the page of the table with the entry of a, and which entry that is.
func (t *jumpTable) page(a emu.Addr) (page *[tablePage / 8]uint64, i uintptr) {
	at := uintptr(a) * 8
	return (*[tablePage / 8]uint64)(unsafe.Add(unsafe.Pointer(nil), t.base+at/tablePage*tablePage)), at % tablePage / 8
}

// reset makes all indirect jumps miss.
func (t *jumpTable) reset() { t.pieces.clear() }

// The directory keeps indirect jumps within the jump table whatever their target is. Its entries, of 8 bytes, stand for
// the guest's segments of 4 GiB: those below maxCode hold the address of the table, the others on its only page an
// address that is not canonical whatever is added. The rest of what 2^32 segments would take is reserved, so that a
// lookup there faults.
//
// Generated code finds an entry by the upper half of the target and a displacement of 32 bits, so the directory lies
// below 2 GiB, and there is one for the process: it serves the engine that runs.
//
// A shadow stack that lies near has its windows in what is reserved. There a lookup finds a return's host address, or
// 0, to which it adds 8 times a target that is not canonical. The sum is no address that the host could have mapped,
// unless the target is within 2^44 of a multiple of 2^61: see wildEntries.
const (
	directorySize  = 8 << 32
	directoryPage  = 4096
	segmentsOfCode = int(maxCode >> 32)
)

// directoryAt is the host address of the directory, 0 if there is no room for it: Go's heap may lie there. Tests
// replace it.
var directoryAt = sync.OnceValue(func() uintptr {
	// The more of it lies above 2 GiB, the more is left to others that must lie below.
	const last, step = 1<<31 - directoryPage, 16 << 20
	for at := uintptr(last); at > last-8*step; at -= step {
		p, err := rawMmap(at, directorySize, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE|unix.MAP_FIXED_NOREPLACE, -1)
		if err != nil {
			continue
		}
		if _, _, e := unix.Syscall(unix.SYS_MPROTECT, p, directoryPage, unix.PROT_READ|unix.PROT_WRITE); p != at || e != 0 {
			unix.Syscall(unix.SYS_MUNMAP, p, directorySize, 0)
			continue
		}
		directory := unsafe.Slice((*uint64)(unsafe.Add(unsafe.Pointer(nil), p)), directoryPage/8)
		for i := range directory {
			directory[i] = withdrawn
		}
		return p
	}
	return 0
})

// directoryLost says that no lookup may use the directory any more.
var directoryLost atomic.Bool

// wildEntries reports whether what lies at host addresses [lo, hi) may be looked up for a target such that 8 times that
// is at most 2^47, modulo 2^64, from 0.
func (e *Engine) wildEntries(lo, hi uintptr) bool {
	const (
		reach = 1 << 47 / 8 >> 32 * 8 // the entries for 2^44 bytes
		each  = directorySize / 8     // those for 2^61
	)
	d := e.directory
	return d != 0 && lo < d+directorySize && (d-lo+reach-1)%each < hi-lo+2*reach-1
}

// loseDirectory has all engines do without the directory: others before they run again, e as soon as it looks
// something up that lies below maxCode, or runs anew.
func (e *Engine) loseDirectory() {
	directoryLost.Store(true)
	e.showTable(withdrawn)
}

// leaveDirectory makes e's code anew if it uses a directory that is lost. It comes while none of the code runs.
func (e *Engine) leaveDirectory() {
	if e.directory != 0 && directoryLost.Load() {
		e.flush()
		e.directory = 0
	}
}

// shown is the table that lookups find. Who runs guest code holds running.
var shown uint64

// showTable makes lookups find the jump table at base, or fault if base is withdrawn.
func (e *Engine) showTable(base uint64) {
	shown = base
	atomic.StoreUint64(e.arena.word(stJumpTable), base)
	if e.directory == 0 {
		return
	}
	for i := range segmentsOfCode {
		atomic.StoreUint64((*uint64)(unsafe.Add(unsafe.Pointer(nil), e.directory+8*uintptr(i))), base)
	}
}
