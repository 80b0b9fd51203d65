package hooks

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/x86"
)

// Taken returns what the conditional branch i is recorded as when its condition holds, or does not. A Jcc to the next
// instruction with an even condition code is recorded inverted: Valgrind's oddity (docs/counting.md, "Conditional
// branches").
func Taken(i *x86.Inst, holds bool) bool {
	if i.Flow == x86.FlowJcc && i.Target == 0 && i.Cond&1 == 0 {
		return !holds
	}
	return holds
}

// A Reference is one that an instruction makes, with its address.
type Reference struct {
	x86.Ref
	Addr emu.Addr
}

// ReferencesBefore returns how many of refs, all that an instruction was to make, were made before it raised f. Of an
// instruction that faults these count, and its Ir, and nothing else. found says that f is the next one's: the first in
// f's page, whatever address there a CPU tells. Other faults than page faults come before all references.
func ReferencesBefore(refs []Reference, f emu.Fault) (n int, found bool) {
	if f.Vector != emu.VecPF {
		return 0, false
	}
	for n, r := range refs {
		in := r.Addr.PageDown() <= f.Addr.PageDown() && f.Addr.PageDown() <= (r.Addr+emu.Addr(r.Size)-1).PageDown()
		if in && f.Write == (r.Kind != x86.Read) {
			return n, true
		}
	}
	return len(refs), false
}
