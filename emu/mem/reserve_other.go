//go:build !linux

package mem

import (
	"os"

	"github.com/cgemu/cgemu/emu"
)

// A reservation needs mmap(2) as Linux has it; other hosts have none yet.
type reservation struct{ base uintptr }

// HostPage is the size of the host's pages.
var HostPage = emu.PageSize

func (r *reservation) coarse() bool                                { return false }
func (r *reservation) around(lo, hi emu.Addr) (emu.Addr, emu.Addr) { return lo, hi }

var maxProtected = func() int { return 0 }

func reserve(limit emu.Addr) (reservation, error) { return reservation{}, ErrNoHost }

// Available says why there can be no guest memory on this host.
func Available() error { return ErrNoHost }

// Base returns the host address of guest address 0.
func (m *Space) Base() uintptr { return 0 }

func reservePerms(limit emu.Addr) (Perms, error) { return make(Perms, limit/emu.PageSize), nil }
func releasePerms(Perms)                         {}

func (r *reservation) release() error                                     { return nil }
func (r *reservation) view(a emu.Addr, n uint64) []byte                   { return hostSlice(0, a, n) }
func (r *reservation) mapPages(v VMA, src *os.File) error                 { return ErrNoHost }
func (r *reservation) unmapPages(lo, hi emu.Addr) error                   { return ErrNoHost }
func (r *reservation) protectPages(lo, hi emu.Addr, prot Prot) error      { return ErrNoHost }
func (r *reservation) movePages(lo, hi, to emu.Addr, newLen uint64) error { return ErrNoHost }
func (r *reservation) discardPages(lo, hi emu.Addr) error                 { return ErrNoHost }
func (r *reservation) removePages(lo, hi emu.Addr) error                  { return ErrNoHost }
func (r *reservation) takeOver(old *reservation, vmas []VMA) error        { return ErrNoHost }
func (r *reservation) populate(lo, hi emu.Addr)                           {}

func identify(f *os.File) (id backingID, ok bool)                     { return id, false }
func reopen(src *os.File, mode int) *os.File                          { return nil }
func punch(f *os.File, off, n uint64) error                           { return ErrNoHost }
func readInto(b []byte, src *os.File, off uint64) error               { return ErrNoHost }
func mapFirst(v VMA, src *os.File) (unmap func() error, err error)    { return nil, ErrNoHost }
func changedPages(base uintptr, v VMA, f func(lo, hi emu.Addr)) error { return ErrNoHost }
