package mem

import "github.com/cgemu/cgemu/emu"

// A journal has pages as they were before somebody wrote to them, so that they can be put back.
type journal struct {
	recording bool
	pages     []Change
	has       map[emu.Addr]bool
}

// A Change is a page that was written to: what it held before and behind that.
type Change struct {
	At            emu.Addr
	Before, After []byte
}

// Record has the Space keep what pages held before they are written to, by Write or by an engine that asks for Perms,
// up to Undo. Mappings may not change meanwhile.
func (m *Space) Record() {
	if m.journal == nil {
		m.journal = &journal{has: map[emu.Addr]bool{}}
		m.forgetPerms(0, m.limit)
	}
	m.journal.recording = true
}

// Undo ends Record: all pages hold again what they held then. It returns those that were written to. What two of them
// have in common, two mappings of one page of a file, is right in the end.
func (m *Space) Undo() []Change {
	j := m.journal
	changes := j.pages
	j.recording, j.pages = false, nil
	for i := range changes {
		c := &changes[i]
		c.After = make([]byte, emu.PageSize)
		m.Read(c.At, c.After)
	}
	for i := range changes {
		c := &changes[len(changes)-1-i]
		delete(j.has, c.At)
		m.forgetPerms(c.At, c.At+1)
		m.Write(c.At, c.Before)
	}
	return changes
}

// keep saves the pages of [lo, hi), which are about to be written to.
func (j *journal) keep(m *Space, lo, hi emu.Addr) {
	if j == nil || !j.recording {
		return
	}
	for p := lo.PageDown(); p < hi; p += emu.PageSize {
		if j.has[p] {
			continue
		}
		before := make([]byte, emu.PageSize)
		copyCareful(before, m.host.view(p, emu.PageSize))
		j.has[p] = true
		j.pages = append(j.pages, Change{At: p, Before: before})
		m.forgetPerms(p, p+1)
	}
}

// mayWrite reports whether an engine may write to the page at p without asking.
func (j *journal) mayWrite(p emu.Addr) bool { return j == nil || j.recording && j.has[p] }
