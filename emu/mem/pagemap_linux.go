//go:build !portable

package mem

import (
	"encoding/binary"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/cgemu/cgemu/emu"
)

// pagemap opens /proc/self/pagemap; -1 if the host has none. Tests replace it.
var pagemap = sync.OnceValue(func() int {
	fd, err := unix.Open("/proc/self/pagemap", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	return fd
})

// changedPages calls f for the runs of pages of v that are neither untouched nor its file's.
func changedPages(base uintptr, v VMA, f func(lo, hi emu.Addr)) error {
	if pagemap() < 0 {
		f(v.Lo, v.Hi)
		return nil
	}
	if !noScan.Load() {
		err := scanPages(base, v, f)
		if err != errNoScan {
			return err
		}
		noScan.Store(true)
	}
	return readPages(base, v, f)
}

// noScan says that the host cannot scan: it is older than Linux 6.7, or a filter forbids it.
var noScan atomic.Bool

// errNoScan says so before anything was found.
var errNoScan = fmt.Errorf("mem: BUG: /proc/self/pagemap cannot be scanned")

// A pmScanArg is the struct pm_scan_arg of PAGEMAP_SCAN(2const), and a pageRegion what that fills in.
type pmScanArg struct {
	size, flags         uint64
	start, end, walkEnd uint64
	vec                 *pageRegion
	vecLen              uint64
	maxPages            uint64
	categoryInverted    uint64
	categoryMask        uint64
	categoryAnyofMask   uint64
	returnMask          uint64
}

type pageRegion struct{ start, end, _ uint64 }

// The request of ioctl(2), and categories of pages (include/uapi/linux/fs.h).
const (
	requestPagemapScan = 0xc0606610 // _IOWR('f', 16, struct pm_scan_arg)

	pageIsFile    = 1 << 2
	pageIsPresent = 1 << 3
	pageIsSwapped = 1 << 4
	pageIsPFNZero = 1 << 5
)

// scanPages has the host look for the pages: what nothing was ever mapped to takes no time, be it terabytes.
func scanPages(base uintptr, v VMA, f func(lo, hi emu.Addr)) error {
	size := uint64(os.Getpagesize())
	start := (uint64(base) + uint64(v.Lo)) &^ (size - 1)
	end := (uint64(base) + uint64(v.Hi) + size - 1) &^ (size - 1)
	arg := pmScanArg{categoryAnyofMask: pageIsPresent | pageIsSwapped, categoryMask: pageIsPFNZero, categoryInverted: pageIsPFNZero}
	if v.File {
		arg.categoryMask |= pageIsFile
		arg.categoryInverted |= pageIsFile
	}
	regions := make([]pageRegion, 64)
	for at := start; at < end; at = arg.walkEnd {
		arg.start, arg.end = at, end
		n, err := pagemapScan(pagemap(), &arg, regions)
		switch {
		case err == unix.EINTR:
			arg.walkEnd = at
			continue
		case err != nil && at == start:
			return errNoScan
		case err != nil:
			return fmt.Errorf("mem: scanning /proc/self/pagemap: %w", err)
		}
		for _, r := range regions[:n] {
			f(max(v.Lo, emu.Addr(r.start-uint64(base))), min(v.Hi, emu.Addr(r.end-uint64(base))))
		}
	}
	return nil
}

// Bits of an entry there (Documentation/admin-guide/mm/pagemap.rst).
const (
	pagePresent = 1 << 63
	pageSwapped = 1 << 62
	pageOfFile  = 1 << 61 // or shared
)

// readPages reads an entry for each page.
func readPages(base uintptr, v VMA, f func(lo, hi emu.Addr)) error {
	const chunk = 16 << 10 // pages
	size := uint64(os.Getpagesize())
	first, last := (uint64(base)+uint64(v.Lo))/size, (uint64(base)+uint64(v.Hi)-1)/size
	buf := make([]byte, 8*min(chunk, last-first+1))
	none := last + 1
	from := none // where the run began
	found := func(end uint64) {
		if from != none {
			f(max(v.Lo, emu.Addr(from*size-uint64(base))), min(v.Hi, emu.Addr(end*size-uint64(base))))
			from = none
		}
	}
	for page := first; page <= last; {
		n, err := unix.Pread(pagemap(), buf[:min(uint64(len(buf)), 8*(last-page+1))], int64(page*8))
		if n < 8 {
			return fmt.Errorf("mem: reading /proc/self/pagemap: %w", err)
		}
		for b := buf[:n]; len(b) >= 8; b = b[8:] {
			e := binary.LittleEndian.Uint64(b)
			switch {
			case e&(pagePresent|pageSwapped) == 0 || v.File && e&pageOfFile != 0:
				found(page)
			case from == none:
				from = page
			}
			page++
		}
	}
	found(none)
	return nil
}
