package mem

import (
	"bufio"
	"bytes"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// takeOver moves the pages of vmas from old to r, and gives old back. The host has mappings of its own: where permissions differ,
// and where it did not join two of the guest's. mremap(2) moves no more than one at a time.
func (r *reservation) takeOver(old *reservation, vmas []VMA) error {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return fmt.Errorf("mem: growing the address space: %w", err)
	}
	lines := bufio.NewScanner(bytes.NewReader(maps))
	for lines.Scan() && len(vmas) > 0 {
		var lo, hi uintptr
		if _, err := fmt.Sscanf(lines.Text(), "%x-%x", &lo, &hi); err != nil {
			return fmt.Errorf("mem: /proc/self/maps: %w", err)
		}
		for len(vmas) > 0 {
			from, to := max(lo, old.base+uintptr(vmas[0].Lo)), min(hi, old.base+uintptr(vmas[0].Hi))
			if from < to {
				_, _, e := unix.Syscall6(unix.SYS_MREMAP, from, to-from, to-from, unix.MREMAP_MAYMOVE|unix.MREMAP_FIXED, r.base+from-old.base, 0)
				if e != 0 {
					return fmt.Errorf("mem: growing the address space: %w", e)
				}
			}
			if old.base+uintptr(vmas[0].Hi) > hi {
				break // it goes on in the next line
			}
			vmas = vmas[1:]
		}
	}
	return old.release()
}
