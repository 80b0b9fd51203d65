//go:build unicorn && linux && (amd64 || arm64)

package unicorn

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/ebitengine/purego"
)

// Names under which the library is found, the exact one first.
var libNames = []string{"libunicorn.so.2", "libunicorn.so"}

// libVariable names another file.
const libVariable = "CGEMU_LIBUNICORN"

const install = "install libunicorn2 (Debian, Ubuntu), unicorn (Fedora, Arch, Homebrew) or set " + libVariable + " to its file"

// A library has the functions of libunicorn that the engine calls.
type library struct {
	file         string
	major, minor uint8
	patch        uint8

	version, open, close        uintptr
	memMapPtr, memUnmap         uintptr
	hookAdd, ctl                uintptr
	emuStart, emuStop           uintptr
	regReadBatch, regWriteBatch uintptr
	regWrite                    uintptr
	contextAlloc, contextSave   uintptr
	contextRestore, contextFree uintptr

	// blind says that it does not report loads: Go computes where they go. It is tested once, by the
	// first engine that asks for loads.
	blind  bool
	tested sync.Once
}

// load opens the library.
var load = sync.OnceValues(func() (*library, error) {
	names := libNames
	if name := os.Getenv(libVariable); name != "" {
		names = []string{name}
	}
	var errs []string
	for _, name := range names {
		handle, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
		if err == nil {
			return bind(name, handle)
		}
		errs = append(errs, err.Error())
	}
	return nil, fmt.Errorf("engine unicorn: no libunicorn: %s: %s", install, errs[0])
})

// bind finds the functions in an open library and checks its version.
func bind(name string, handle uintptr) (*library, error) {
	l := &library{file: name}
	for _, f := range []struct {
		symbol string
		at     *uintptr
	}{
		{"uc_version", &l.version}, {"uc_open", &l.open}, {"uc_close", &l.close},
		{"uc_mem_map_ptr", &l.memMapPtr}, {"uc_mem_unmap", &l.memUnmap}, {"uc_hook_add", &l.hookAdd},
		{"uc_emu_start", &l.emuStart}, {"uc_emu_stop", &l.emuStop}, {"uc_reg_read_batch", &l.regReadBatch},
		{"uc_reg_write_batch", &l.regWriteBatch}, {"uc_reg_write", &l.regWrite}, {"uc_context_alloc", &l.contextAlloc},
		{"uc_context_save", &l.contextSave}, {"uc_context_restore", &l.contextRestore}, {"uc_context_free", &l.contextFree},
	} {
		var err error
		if *f.at, err = purego.Dlsym(handle, f.symbol); err != nil {
			return nil, fmt.Errorf("engine unicorn: %s is not libunicorn: %w: %s", name, err, install)
		}
	}
	v, _, _ := purego.SyscallN(l.version, 0, 0)
	l.major, l.minor, l.patch = uint8(v>>24), uint8(v>>16), uint8(v>>8)
	if l.major != 2 {
		return nil, fmt.Errorf("engine unicorn: %s is version %s, 2.0.1 or later of version 2 is needed: %s", name, l.number(), install)
	}
	var err error
	if l.ctl, err = purego.Dlsym(handle, "uc_ctl"); err != nil {
		return nil, fmt.Errorf("engine unicorn: %s is too old, 2.0.1 or later is needed: %s", name, install)
	}
	return l, nil
}

// number returns the library's version.
func (l *library) number() string { return fmt.Sprintf("%d.%d.%d", l.major, l.minor, l.patch) }

// Available returns which library was found, or why the engine cannot be used.
func Available() (found string, err error) {
	l, err := load()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s, version %s", l.file, l.number()), nil
}

// Warning returns what users of the library that was found should know, "" if nothing.
func Warning() string {
	l, err := load()
	if err != nil {
		return ""
	}
	slow := l.minor == 0 || l.minor == 1 && (l.patch == 3 || l.patch == 4)
	if !slow {
		return ""
	}
	return fmt.Sprintf("libunicorn %s is slow: each store takes it 30 to 80 ns; 2.1.1 is better", l.number())
}

// A status is what a function of the library returns: uc_err of unicorn.h.
type status uintptr

// Values of uc_err that the engine tells apart.
const (
	statusOK           status = 0
	statusReadUnmapped status = 6
	statusWriteUnmap   status = 7
	statusFetchUnmap   status = 8
	statusInvalidInsn  status = 10
	statusWriteProt    status = 12
	statusReadProt     status = 13
	statusFetchProt    status = 14
)

var statusTexts = [...]string{
	"ok", "no memory (UC_ERR_NOMEM)", "no such architecture (UC_ERR_ARCH)", "no handle (UC_ERR_HANDLE)",
	"no such mode (UC_ERR_MODE)", "another version (UC_ERR_VERSION)",
	"read of unmapped memory (UC_ERR_READ_UNMAPPED)", "write to unmapped memory (UC_ERR_WRITE_UNMAPPED)",
	"fetch from unmapped memory (UC_ERR_FETCH_UNMAPPED)", "no such hook (UC_ERR_HOOK)",
	"invalid instruction (UC_ERR_INSN_INVALID)", "impossible mapping (UC_ERR_MAP)",
	"write to protected memory (UC_ERR_WRITE_PROT)", "read of protected memory (UC_ERR_READ_PROT)",
	"fetch from protected memory (UC_ERR_FETCH_PROT)", "invalid argument (UC_ERR_ARG)",
	"unaligned read (UC_ERR_READ_UNALIGNED)", "unaligned write (UC_ERR_WRITE_UNALIGNED)",
	"unaligned fetch (UC_ERR_FETCH_UNALIGNED)", "hooked already (UC_ERR_HOOK_EXIST)",
	"no resources (UC_ERR_RESOURCE)", "unhandled exception (UC_ERR_EXCEPTION)",
}

func (s status) Error() string {
	if int(s) < len(statusTexts) {
		return "libunicorn: " + statusTexts[s]
	}
	return fmt.Sprintf("libunicorn: error %d", uintptr(s))
}

// call calls a function of the library that returns a uc_err.
func call(f uintptr, args ...uintptr) error {
	r, _, _ := purego.SyscallN(f, args...)
	if s := status(uint32(r)); s != statusOK {
		return s
	}
	return nil
}

// statusOf returns the status behind an error of call.
func statusOf(err error) status {
	var s status
	errors.As(err, &s)
	return s
}

// describe joins what the library said to what was being done.
func describe(what string, err error) error {
	return fmt.Errorf("engine unicorn: %s: %s", what, strings.TrimPrefix(err.Error(), "libunicorn: "))
}
