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

// A jumpTable maps guest addresses to generated code: entry a is the host address
// an indirect jump to a continues at. It is an array of one pointer for every guest
// address below maxCode, mapped piece by piece where there is code; a
// fresh piece is a private copy of a file whose every entry is the miss stub, so that a lookup
// needs no compare: jmp [table+target*8]. The directory gives the table's address to targets below maxCode only.
//
// A target outside any piece faults, and so does every lookup while the table is
// withdrawn, which is how Interrupt stops indirect jumps.
type jumpTable struct {
	base   uintptr
	piece  int // descriptor of the file
	mapped map[uintptr]bool
	miss   uint64
}

const (
	// maxCode is the end of the guest addresses that the table has entries for. Jumps to code above it go through Go.
	maxCode emu.Addr = 1 << 37
	// pieceSize is that of the file, in bytes: 64 KiB of guest code.
	pieceSize = 512 << 10
	// tableSize is as much as a guest's memory of 1 TiB takes, and its shadow stack: each fits where another was.
	tableSize = uintptr(maxCode)*8 + mem.Guard + mem.GuardAbove
	// withdrawn replaces the table's address to make lookups fault: not canonical.
	withdrawn = 1 << 62
)

// newJumpTable makes a table without addresses.
func newJumpTable(miss uint64) (*jumpTable, error) {
	fd, err := unix.MemfdCreate("cgemu-jumps", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("jit: jump table: %w", err)
	}
	n, err := writePiece(fd, miss)
	if n != pieceSize {
		unix.Close(fd)
		if err == nil {
			err = unix.EFBIG // the rest would be above the limit of file sizes
		}
		return nil, fmt.Errorf("jit: jump table: %w", err)
	}
	return &jumpTable{piece: fd, mapped: map[uintptr]bool{}, miss: miss}, nil
}

// reserve gives the table its addresses.
func (t *jumpTable) reserve() error {
	p, err := rawMmap(0, tableSize, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE, -1)
	if err != nil {
		return fmt.Errorf("jit: reserving the jump table: %w", err)
	}
	t.base = p
	return nil
}

// release gives them back, and what the table holds.
func (t *jumpTable) release() {
	clear(t.mapped)
	if t.base != 0 {
		unix.Syscall(unix.SYS_MUNMAP, t.base, tableSize, 0)
		t.base = 0
	}
}

// piece is what is written to a table's file: it is large, and each process has a table.
var piece struct {
	sync.Mutex
	entries [pieceSize / 8]uint64
}

// writePiece fills a table's file.
func writePiece(fd int, miss uint64) (int, error) {
	piece.Lock()
	defer piece.Unlock()
	for i := range piece.entries {
		piece.entries[i] = miss
	}
	return unix.Pwrite(fd, unsafe.Slice((*byte)(unsafe.Pointer(&piece.entries)), pieceSize), 0)
}

// set makes indirect jumps to a, which lies below maxCode, continue at host address to.
func (t *jumpTable) set(a emu.Addr, to uint64) error {
	at := t.base + uintptr(a)*8
	piece := uintptr(a) * 8 / pieceSize
	if !t.mapped[piece] {
		_, err := rawMmap(t.base+piece*pieceSize, pieceSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_FIXED, t.piece)
		if err != nil {
			return fmt.Errorf("jit: jump table: %w", err)
		}
		t.mapped[piece] = true
	}
	*(*uint64)(unsafe.Add(unsafe.Pointer(nil), at)) = to
	return nil
}

// clear makes indirect jumps to a miss.
func (t *jumpTable) clear(a emu.Addr) {
	if a < maxCode && t.mapped[uintptr(a)*8/pieceSize] {
		*(*uint64)(unsafe.Add(unsafe.Pointer(nil), t.base+uintptr(a)*8)) = t.miss
	}
}

// reset makes all indirect jumps miss.
func (t *jumpTable) reset() {
	for piece := range t.mapped {
		rawMmap(t.base+piece*pieceSize, pieceSize, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE|unix.MAP_FIXED, -1)
	}
	clear(t.mapped)
}

func (t *jumpTable) close() {
	unix.Close(t.piece)
	t.release()
}

// The directory keeps indirect jumps within the jump table whatever their target is. Its entries, of 8 bytes, stand for the
// guest's segments of 4 GiB: those below maxCode hold the address of the table, the others on its only page an address that is
// not canonical whatever is added. The rest of what 2^32 segments would take is reserved, so that a lookup there faults.
//
// Generated code finds an entry by the upper half of the target and a displacement of 32 bits, so the directory lies
// below 2 GiB, and there is one for the process: it serves the engine that runs.
const (
	directorySize  = 8 << 32
	directoryPage  = 4096
	segmentsOfCode = int(maxCode >> 32)
)

// directoryAt is the host address of the directory, 0 if there is no room for it: Go's heap may lie there. Tests replace it.
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
