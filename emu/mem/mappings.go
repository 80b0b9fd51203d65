package mem

import (
	"errors"
	"sync/atomic"

	"github.com/cgemu/cgemu/emu"
)

// The host counts the mappings of a process (vm.max_map_count), those of all spaces together with what cgemu, and the
// run-time system that it is written with, need for themselves; and where there is none left for those the process
// cannot go on. So Groups keep account of what their spaces may take, and refuse what would take more.

// allTaken is what the Groups of this process take together, as each has said last (Group.tell). It is for Groups that
// others use at the same time.
var allTaken atomic.Int64

// maxVMAs is how many mappings a guest may have in a space, as Linux does unless vm.max_map_count is set.
const maxVMAs = 65530

// ErrMappings is that the guest has as many mappings as it may have, or that the host has room for.
var ErrMappings = errors.New("mem: too many mappings (vm.max_map_count)")

// HostMappings is how many mappings the host lets this process have. Of those, the spaces of a Group take seven eighths
// at most, guards and loans included, and the guest's own mappings three quarters.
func HostMappings() int { return hostMappings() }

// minProtected is how many pages may be write-protected for their code's sake however few mappings are left: more than
// one block needs.
const minProtected = 64

// moreMappings is how many mappings, of the guest's and of the host's, a change of a range adds at most: at each end
// one is parted, and a hole begins.
const moreMappings = 4

// roomFor is ErrMappings unless a change of a range of m's may be made.
func (m *Space) roomFor() error {
	if m.vmas.count+moreMappings > maxVMAs {
		return ErrMappings
	}
	return m.group.roomFor(moreMappings)
}

// roomToUnmap is ErrMappings unless [lo, hi) may be unmapped, which may part a VMA, or make a hole beside one that
// stays.
func (m *Space) roomToUnmap(lo, hi emu.Addr) error {
	for p := m.vmas.search(lo); ; p = m.vmas.next(p) {
		switch v := m.vmas.at(p); {
		case v == nil || v.Lo >= hi:
			return m.roomFor()
		case v.Lo >= lo && v.Hi <= hi:
			return nil // it goes, and makes up for that
		}
	}
}

// roomToMark is ErrMappings unless VMAs may begin and end at lo and hi, which the host does not notice.
func (m *Space) roomToMark(lo, hi emu.Addr) error {
	n := m.vmas.count
	for _, a := range [2]emu.Addr{lo, hi} {
		if v := m.VMA(a); v != nil && v.Lo < a {
			n++
		}
	}
	if n > maxVMAs {
		return ErrMappings
	}
	m.group.atMost += n - m.vmas.count
	m.group.tell()
	return nil
}

// roomFor is ErrMappings unless the spaces may take n more mappings of the host. Guards of code are given up for them.
func (g *Group) roomFor(n int) error {
	limit := hostMappings() / 8
	if g.taken(6*limit-n) > 6*limit-n {
		g.Refused = true
		return ErrMappings
	}
	if rest := 7*limit - n - 2*g.protected; g.taken(rest) > rest {
		g.evict(len(g.queue))
	}
	if g.atMost += n; g.atMost > g.recountAt {
		g.recount() // others shall not be told of a quarter more than there is
	}
	g.tell()
	return nil
}

// guardsFit reports whether the host may write-protect another page.
func (g *Group) guardsFit() bool {
	rest := hostMappings()/8*7 - 2*(g.protected+1)
	return g.protected < maxProtected() && (g.protected < minProtected || g.taken(rest) <= rest)
}

// partsFit reports whether another loan may be parted.
func (g *Group) partsFit() bool {
	rest := hostMappings()/8*7 - 2*g.protected - 2
	return g.parts < maxParts() && g.taken(rest) <= rest
}

// taken is how many mappings of the host the VMAs of all spaces, the holes between them and the loans take, but for
// guards of g's code; or, if it is no more than enough, as many or more. Those of other Groups count in.
func (g *Group) taken(enough int) int {
	others := int(allTaken.Load()) - g.told
	if others+g.atMost > enough {
		g.recount()
	}
	return others + g.atMost
}

// recount finds out what g's spaces take.
func (g *Group) recount() {
	g.atMost = g.parts
	for _, m := range g.spaces {
		g.atMost += m.vmas.runs()
	}
	g.recountAt = g.atMost/4*5 + 100
	g.tell()
}

// tell tells other Groups what g takes.
func (g *Group) tell() {
	now := g.atMost + 2*g.protected
	allTaken.Add(int64(now - g.told))
	g.told = now
}

// runs is how many VMAs and holes there are.
func (l *vmaList) runs() int {
	n, end := 1, emu.Addr(0)
	for _, block := range l.blocks {
		for i := range block {
			if n++; block[i].Lo > end {
				n++
			}
			end = block[i].Hi
		}
	}
	return n
}
