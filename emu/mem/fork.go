package mem

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/cgemu/cgemu/emu"
)

// A fileID tells files of the host apart.
type fileID struct{ dev, ino uint64 }

// A backingID tells ways to have a file open apart.
type backingID struct {
	fileID
	mode int
}

// A backing is a file of the host that is kept open, so that a Space that is forked can map it again.
type backing struct {
	file *os.File
	refs int // Spaces that keep it
}

// maxFiles is how many files a Space keeps before it looks which of them are still mapped.
const maxFiles = 64

// keep returns the backing for src; nil if it cannot be kept, and Fork copies.
func (m *Space) keep(src *os.File) (*backing, fileID) {
	id, ok := identify(src)
	if !ok {
		return nil, fileID{}
	}
	if b := m.files[id]; b != nil {
		return b, id.fileID
	}
	if len(m.files) >= maxFiles {
		m.dropFiles()
	}
	f := reopen(src, id.mode)
	if f == nil {
		return nil, id.fileID
	}
	b := &backing{file: f, refs: 1}
	m.files[id] = b
	return b, id.fileID
}

// OfFile reports whether the page at a is one of a file, as /proc/PID/pagemap tells: the mapping is shared, or the page
// has what the file has there now.
func (m *Space) OfFile(a emu.Addr) bool {
	v := m.VMA(a)
	switch {
	case v == nil || !v.File:
		return false
	case v.Shared:
		return true
	case v.back == nil:
		return false
	}
	a = a.PageDown()
	var have, want [emu.PageSize]byte
	n, err := v.back.file.ReadAt(want[:], int64(v.Off+uint64(a-v.Lo)))
	if err != nil && err != io.EOF {
		return false
	}
	// Behind the file's last page nothing can have been written.
	return n == 0 || m.Peek(a, have[:]) == len(have) && have == want
}

// dropFiles closes files that are mapped no longer.
func (m *Space) dropFiles() {
	used := map[*backing]bool{}
	for _, v := range m.VMAs() {
		used[v.back] = true
	}
	for id, b := range m.files {
		if used[b] {
			continue
		}
		delete(m.files, id)
		if b.refs--; b.refs == 0 {
			b.file.Close()
		}
	}
}

// Fork returns a Space with the same mappings, as fork(2) does: what is shared stays
// shared, what is private is copied as far as it differs from its file, or is empty or missing as its VMA says.
func (m *Space) Fork() (*Space, error) {
	if err := m.group.roomFor(m.vmas.runs()); err != nil {
		return nil, err
	}
	m.group.Sync()
	n, err := m.group.newWithin(m.limit)
	if err != nil {
		return nil, err
	}
	for id, b := range m.files {
		b.refs++
		n.files[id] = b
	}
	much, err := m.lendsMuch()
	if err != nil {
		n.Close()
		return nil, err
	}
	for _, v := range m.VMAs() {
		if v.NoFork {
			continue
		}
		v.Locked = false // "Memory locks are not inherited by a child" - mlock(2)
		if err := m.forkVMA(n, v, much); err != nil {
			n.Close()
			return nil, err
		}
		n.vmas.put(n.vmas.search(v.Lo), v)
	}
	m.guardIn(n)
	return n, nil
}

// forkVMA maps v in n and copies what it does not share, or lends it if lend is true.
func (m *Space) forkVMA(n *Space, v VMA, lend bool) (err error) {
	src := v.file()
	if v.Shared && src != nil {
		err := n.host.mapPages(v, src)
		if errors.Is(err, fs.ErrPermission) { // what is mapped for writing was sealed against that since (F_SEAL_FUTURE_WRITE)
			err = m.host.mapAgain(&n.host, v)
		}
		return err
	}
	if m.onDemand(&v) {
		if err := n.host.mapPages(v, src); err != nil || v.Wipe {
			return err
		}
		return m.copyOwn(n, v.Lo, v.Hi, 0)
	}
	prot := m.onHost(v).Prot
	first := v
	first.Shared, first.Prot = false, Read|Write
	if err := n.host.mapPages(first, src); err != nil {
		return err
	}
	if v.Wipe {
		return n.host.protectPages(v.Lo, v.Hi, prot)
	}
	if prot&Read == 0 {
		// Nobody can read it, but what was there may become readable again.
		if err := m.host.protectPages(v.Lo, v.Hi, Read); err != nil {
			return err
		}
		defer m.host.protectPages(v.Lo, v.Hi, prot)
	}
	copied := func(lo, hi emu.Addr) {
		if hi = m.fileEnd(&v, hi); lo < hi {
			copyPages(n, m, lo, hi)
		}
	}
	if v.File && src == nil {
		copied(v.Lo, v.Hi) // of the file, too
		return n.host.protectPages(v.Lo, v.Hi, prot)
	}
	if lend && m.lends(&v) {
		err = m.lend(n, v)
	} else {
		// Where pages are borrowed the host may have some all the same: it gives large ones, or several at a time.
		for _, own := range without(m.borrowed, v.Lo, v.Hi, m) {
			err = errors.Join(err, changedPages(m.host.base, v.part(own.lo, own.hi), copied))
		}
	}
	for _, l := range within(m.borrowed, v.Lo, v.Hi) {
		err = errors.Join(err, n.borrow(l))
	}
	if err != nil || first.Prot == prot {
		return err
	}
	return n.host.protectPages(v.Lo, v.Hi, prot)
}
