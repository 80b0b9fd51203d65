package task

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// Valgrind's client requests (valgrind.h).
const (
	vgRunningOnValgrind = 0x1001
	vgDiscard           = 0x1002
	vgReplacesMalloc    = 0x1003
	vgGetToolname       = 0x1004
	vgCountErrors       = 0x1201
	vgGdbMonitor        = 0x1202
	vgCloChange         = 0x1203
	vgPrintf            = 0x1403
	vgPrintfBacktrace   = 0x1404
	vgStackRegister     = 0x1501
	vgStackDeregister   = 0x1502
	vgStackChange       = 0x1503
	vgLoadPDB           = 0x1601
	vgMapIP             = 0x1701
	vgChangeErr         = 0x1801
	vgInnerThreads      = 0x1902
)

// ClientRequest answers the Valgrind client request whose block RAX points to, and puts the result into RDX. If nobody
// knows the request, RDX keeps the default that the program has put there.
func (t *Thread) ClientRequest() {
	b, e := t.CopyIn(emu.Addr(t.CPU.Regs[emu.RAX]), 48)
	if e != 0 {
		// Valgrind would read the block itself, and fault.
		t.force(&SigInfo{Signo: linux.SIGSEGV, Code: linux.SEGV_MAPERR})
		return
	}
	code := linux.Uint64(b)
	var args [5]uint64
	for i := range args {
		args[i] = linux.Uint64(b[8+8*i:])
	}
	if hook := t.Kernel.Config.OnClientRequest; hook != nil {
		if r, known := hook(t.Process.Engine, code, args); known {
			t.CPU.Regs[emu.RDX] = r
			return
		}
	}
	if r, known := t.builtinRequest(code, args); known {
		t.CPU.Regs[emu.RDX] = r
	}
}

// builtinRequest answers the requests that the kernel knows without a Config.OnClientRequest.
func (t *Thread) builtinRequest(code uint64, args [5]uint64) (uint64, bool) {
	switch code {
	case vgRunningOnValgrind:
		return 1, true
	case vgDiscard:
		lo := emu.Addr(args[0])
		if n := args[1]; n > 0 {
			t.Process.Engine.Invalidate(lo, lo+emu.Addr(n))
		}
		return 0, true
	case vgStackRegister:
		// 0 is the main stack.
		t.Kernel.nextVgStack++
		return t.Kernel.nextVgStack, true
	case vgPrintf, vgPrintfBacktrace:
		return t.clientPrintf(args), true
	case vgCountErrors, vgGdbMonitor, vgCloChange, vgStackDeregister, vgStackChange, vgLoadPDB,
		vgMapIP, vgChangeErr, vgInnerThreads:
		return 0, true
	}
	return 0, false
}
