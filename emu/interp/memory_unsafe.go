package interp

import (
	"unsafe"

	"github.com/cgemu/cgemu/emu"
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
