//go:build !portable

package mem

import (
	"bufio"
	"bytes"
	"fmt"
	"os"

	"github.com/cgemu/cgemu/emu"
)

// takeOver moves the pages of vmas from old to r, and gives old back. The host has mappings of its own: where
// permissions differ, and where it did not join two of the guest's. mremap(2) moves no more than one at a time.
func (r *reservation) takeOver(old *reservation, vmas []VMA, _ map[emu.Addr]copyState) error {
	ranges := r.ranges(vmas)
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return fmt.Errorf("mem: growing the address space: %w", err)
	}
	lines := bufio.NewScanner(bytes.NewReader(maps))
	for lines.Scan() && len(ranges) > 0 {
		var lo, hi uintptr
		if _, err := fmt.Sscanf(lines.Text(), "%x-%x", &lo, &hi); err != nil {
			return fmt.Errorf("mem: /proc/self/maps: %w", err)
		}
		for len(ranges) > 0 {
			from, to := max(lo, old.base+uintptr(ranges[0].lo)), min(hi, old.base+uintptr(ranges[0].hi))
			if from < to {
				if _, err := moveFrom(from, to-from, r.base+from-old.base); err != nil {
					return fmt.Errorf("mem: growing the address space: %w", err)
				}
			}
			if old.base+uintptr(ranges[0].hi) > hi {
				break // it goes on in the next line
			}
			ranges = ranges[1:]
		}
	}
	return old.release()
}

// ranges returns where the host has something of vmas.
func (r *reservation) ranges(vmas []VMA) (list []addrRange) {
	for _, v := range vmas {
		lo, hi := r.around(v.Lo, v.Hi)
		if n := len(list); n > 0 && lo < list[n-1].hi {
			list[n-1].hi = max(list[n-1].hi, hi)
			continue
		}
		list = append(list, addrRange{lo, hi})
	}
	return list
}
