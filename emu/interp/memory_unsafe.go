package interp

import (
	"unsafe"

	"github.com/cgemu/cgemu/emu"
)

// A hostMemory says where the guest's memory is on the host: its address 0, and a byte with the permissions of each
// page below limit.
type hostMemory struct {
	memory, perms unsafe.Pointer
	limit         uint64
}

// Offsets in a state of what is addressed like a register.
const (
	offFS   = uint8(unsafe.Offsetof(state{}.FSBase))
	offGS   = uint8(unsafe.Offsetof(state{}.GSBase))
	offZero = uint8(unsafe.Offsetof(state{}.zero))
	offTemp = uint8(unsafe.Offsetof(state{}.temp))
	offRSP  = 8 * emu.RSP
)

// findMemory finds out where the guest's memory and its permissions are: other places where the Space has grown.
func (e *Engine) findMemory() error {
	perms, err := e.mem.Perms()
	if err != nil {
		return err
	}
	e.memory = unsafe.Add(unsafe.Pointer(nil), e.mem.Base())
	e.perms, e.limit = unsafe.Pointer(&perms[0]), uint64(len(perms))*emu.PageSize
	return nil
}
