//go:build unicorn && linux && (amd64 || arm64)

package unicorn

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A shared has what Go and C both use: memory that the garbage collector does not know.
type shared struct {
	mem []byte
	*state
	regs *registers
	// words are the ring: ringWords, and ringSlack more.
	words []uint64
	// code is a page of it.
	code []byte
	// table is the upper level of the table of pages; tables are the lower ones.
	table  []uint64
	tables [][]byte
}

const (
	regsOff   = 4096
	pageOff   = regsOff + 4096
	tableOff  = pageOff + pageSize
	ringOff   = tableOff + 8*radixSize
	sharedLen = ringOff + 8*(ringWords+ringSlack)
)

func newShared() (*shared, error) {
	mem, err := mapMemory(sharedLen)
	if err != nil {
		return nil, err
	}
	return &shared{
		mem: mem, state: (*state)(unsafe.Pointer(&mem[0])), regs: (*registers)(unsafe.Pointer(&mem[regsOff])),
		code: mem[pageOff:tableOff], table: wordsOf(mem[tableOff:ringOff]), words: wordsOf(mem[ringOff:]),
	}, nil
}

func mapMemory(n int) ([]byte, error) {
	mem, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, fmt.Errorf("engine unicorn: %d bytes of memory: %w", n, err)
	}
	return mem, nil
}

func (s *shared) close() {
	for _, t := range s.tables {
		unix.Munmap(t)
	}
	unix.Munmap(s.mem)
}

// wordsOf returns the words of b.
func wordsOf(b []byte) []uint64 { return unsafe.Slice((*uint64)(unsafe.Pointer(&b[0])), len(b)/8) }

// address returns where x lies, for C.
func address[T any](x *T) uintptr { return uintptr(unsafe.Pointer(x)) }

// lower returns the lower table whose address an upper one has.
func (s *shared) lower(at uint64) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Add(unsafe.Pointer(nil), uintptr(at))), radixSize)
}

// list makes the table of pages have the counters of a page.
func (s *shared) list(page uint64, counters *[pageSize]uint64) error {
	upper := &s.table[page>>radixBits]
	if *upper == 0 {
		t, err := mapMemory(8 * radixSize)
		if err != nil {
			return err
		}
		s.tables = append(s.tables, t)
		*upper = uint64(address(&t[0]))
	}
	s.lower(*upper)[page%radixSize] = uint64(address(counters))
	return nil
}
