package uio

import (
	"github.com/cgemu/cgemu/emu"
)

// Args are the arguments of a system call, as they lie in registers. Each handler says what type an argument has.
type Args [6]uint64

// Addr is argument i as an address.
func (a *Args) Addr(i int) emu.Addr { return emu.Addr(a[i]) }

// Uint is argument i as an unsigned long.
func (a *Args) Uint(i int) uint64 { return a[i] }

// Long is argument i as a long.
func (a *Args) Long(i int) int64 { return int64(a[i]) }

// Int is argument i as an int: Linux ignores the upper half of the register.
func (a *Args) Int(i int) int { return int(int32(a[i])) }

// U32 is argument i as an unsigned int.
func (a *Args) U32(i int) uint32 { return uint32(a[i]) }
