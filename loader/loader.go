// Package loader puts a program into a guest address space as Linux's execve(2)
// does: ELF executables, static, static PIE, PIE or dynamic with an interpreter,
// and `#!` scripts; then the initial stack with arguments, environment and
// auxiliary vector.
//
// Where things lie is Valgrind's layout (emu/mem's constants; docs/counting.md,
// "The guest's addresses and CPU"): a position-independent executable at PIEBase, its
// interpreter at InterpBase, then 8 MiB set aside for brk, then mmaps; the stack
// ends at StackEnd. There is no vDSO. The contents of the stack's top page are
// described in stack.go.
//
// Files come from outside and are not trusted. Load checks every header before
// anything is mapped; what it refuses it names, in an *Error that carries the
// reason for execve's errno as well.
//
// The package is cgemu's own: what it promises may change.
package loader

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
)

// BrkSize is how much address space is kept free for brk(2).
const BrkSize = 8 << 20

// behindSize is the same with Options.HeapBehind.
const behindSize = 1 << 30

// DefaultStackSize is the main thread's stack if Options does not say: Linux's usual limit.
const DefaultStackSize = 8 << 20

// A File is an opened guest file.
type File struct {
	*os.File
	// Path is the guest's canonical name of it, as /proc/self/maps shows.
	Path string
	// Dev and Ino identify it to the guest.
	Dev, Ino uint64
}

// An Opener opens a guest path for execution. Its errors match fs.ErrNotExist and
// fs.ErrPermission where they should; a file that is not regular or not
// executable is fs.ErrPermission.
type Opener func(path string) (*File, error)

// Options say what the new program sees beside arguments and environment.
type Options struct {
	// Compat packs the stack as Linux and Valgrind do, so that addresses depend
	// on the length of the strings there, and imitates HostAuxv.
	Compat bool
	// HostAuxv is, for Compat, the host's auxiliary vector, without AT_NULL.
	HostAuxv []Aux
	// HWCap and HWCap2 are AT_HWCAP (CPUID 1 EDX) and AT_HWCAP2.
	HWCap, HWCap2 uint64
	// MinSigStack is AT_MINSIGSTKSZ, 0 for a vector without it.
	MinSigStack uint64
	// Random is what AT_RANDOM points to.
	Random [16]byte
	// UID and GID are real and effective ids.
	UID, GID uint64
	// HeapBehind puts the heap behind the program, as Linux does without address randomization: programs that
	// were saved with their heap need that. There is room for 1 GiB.
	HeapBehind bool
	// StackSize is the size of the main stack in bytes, 0 for DefaultStackSize.
	StackSize uint64
}

// An Image is an ELF file in memory.
type Image struct {
	Path string
	// Bias is what was added to the file's addresses.
	Bias uint64
	// Lo and Hi bound its pages.
	Lo, Hi emu.Addr
	// Interp says that it is the program's interpreter.
	Interp bool
}

// A Program is what Load made.
type Program struct {
	// Entry and Stack are RIP and RSP of the first instruction.
	Entry, Stack emu.Addr
	// Images has the program, then its interpreter if it has one.
	Images []Image
	// Brk is where the heap begins; BrkLimit is the end of what is kept free for it.
	Brk, BrkLimit emu.Addr
	// StackLo is the lowest address of the stack's mapping.
	StackLo emu.Addr
	// Argv is the argument vector after `#!` processing.
	Argv []string
	// ArgAddrs and EnvAddrs are where the strings of the argument vector and of the environment lie, upwards.
	ArgAddrs, EnvAddrs []emu.Addr
	// Auxv is the auxiliary vector as in memory, AT_NULL included.
	Auxv []Aux
}

// An Error says why a file cannot be executed.
type Error struct {
	Path string
	// Reason is one of the Err values, or a host's error.
	Reason error
	Msg    string
	// Interp is the interpreter that cannot be opened, "" if it is the file itself.
	Interp string
}

func (e *Error) Error() string { return "loader: " + e.Path + ": " + e.Msg }

func (e *Error) Unwrap() error { return e.Reason }

// Reasons of an Error; execve(2) gives the errno of the same meaning.
var (
	ErrFormat = errors.New("exec format error")                 // ENOEXEC
	ErrLoop   = errors.New("too many levels of interpreters")   // ELOOP
	ErrInterp = errors.New("not a usable interpreter")          // ELIBBAD
	ErrSpace  = errors.New("does not fit in the address space") // ENOMEM
	ErrArgs   = errors.New("argument list too long")            // E2BIG
)

// refuse makes an Error of ErrFormat.
func refuse(path, format string, args ...any) error {
	return &Error{Path: path, Reason: ErrFormat, Msg: fmt.Sprintf(format, args...)}
}

// Load loads the program at path into m, which should be empty.
func Load(m *mem.Space, open Opener, path string, argv, envv []string, o Options) (*Program, error) {
	x, err := Prepare(open, path, argv)
	if err != nil {
		return nil, err
	}
	defer x.Close()
	return x.Load(m, envv, o)
}

// An Executable is a checked program: Load will not refuse its format. It
// lets execve find errors while the old program still exists.
type Executable struct {
	name   string // as execve was given it: AT_EXECFN
	argv   []string
	file   *File
	elf    *elfFile
	interp *elfFile
}

// Prepare opens and checks the program at path, and its interpreters.
func Prepare(open Opener, path string, argv []string) (*Executable, error) {
	f, argv, err := openProgram(open, path, argv)
	if err != nil {
		return nil, err
	}
	x := &Executable{name: path, argv: argv, file: f}
	if x.elf, err = parse(f); err != nil {
		f.Close()
		return nil, err
	}
	if x.elf.interp == "" {
		return x, nil
	}
	if x.interp, err = openInterp(open, x.elf); err != nil {
		f.Close()
		return nil, err
	}
	return x, nil
}

// Close closes the files.
func (x *Executable) Close() {
	x.file.Close()
	if x.interp != nil {
		x.interp.file.Close()
	}
}

// Path returns the guest's canonical path of the program: what /proc/self/exe shows.
func (x *Executable) Path() string { return x.file.Path }

// Ino returns the number of the program's file, as its opener has it.
func (x *Executable) Ino() uint64 { return x.file.Ino }

// Argv returns the arguments after `#!` processing.
func (x *Executable) Argv() []string { return x.argv }

// openInterp opens the interpreter that e asks for.
func openInterp(open Opener, e *elfFile) (*elfFile, error) {
	f, err := open(e.interp)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &Error{Path: e.file.Path, Interp: e.interp, Reason: fs.ErrNotExist, Msg: fmt.Sprintf(
			"needs the interpreter %s, which does not exist (--image, --root or --sysroot says where it is)", e.interp)}
	case err != nil:
		return nil, &Error{Path: e.file.Path, Reason: err, Msg: fmt.Sprintf("interpreter %s: %v", e.interp, err)}
	}
	interp, err := parse(f)
	if err == nil && interp.interp != "" {
		err = refuse(f.Path, "is an interpreter that needs an interpreter")
	}
	if err != nil {
		f.Close()
		return nil, &Error{Path: e.file.Path, Reason: ErrInterp, Msg: "interpreter: " + unprefixed(err)}
	}
	return interp, nil
}

// unprefixed is err's text without the package's name, for use inside another message.
func unprefixed(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Path + ": " + e.Msg
	}
	return err.Error()
}

// Load maps the program into m and builds its stack.
func (x *Executable) Load(m *mem.Space, envv []string, o Options) (*Program, error) {
	p := &Program{Argv: x.argv}
	if o.StackSize == 0 {
		o.StackSize = DefaultStackSize
	}
	if err := x.CheckArgs(envv, o.StackSize); err != nil {
		return nil, err
	}
	img, err := x.elf.load(m, mem.PIEBase)
	if err != nil {
		return nil, err
	}
	p.Images = []Image{img}
	p.Entry = x.elf.entry + emu.Addr(img.Bias)
	mmaps := mem.InterpBase
	if o.HeapBehind {
		p.Brk, p.BrkLimit = img.Hi, img.Hi+behindSize
		mmaps = p.BrkLimit
	}
	aux := auxInfo{entry: p.Entry, phdr: x.elf.phdrAddr() + emu.Addr(img.Bias), phnum: len(x.elf.progs)}
	if x.interp != nil {
		size := uint64(x.interp.hi - x.interp.lo)
		base, ok := m.Find(size, mmaps)
		if !ok {
			return nil, &Error{Path: x.file.Path, Reason: ErrSpace, Msg: "no room for its interpreter"}
		}
		ii, err := x.interp.load(m, base)
		if err != nil {
			return nil, err
		}
		ii.Interp = true
		p.Images = append(p.Images, ii)
		p.Entry = x.interp.entry + emu.Addr(ii.Bias)
		aux.base = ii.Lo
	}
	if !o.HeapBehind {
		brk, ok := m.Find(BrkSize, mmaps)
		if !ok {
			return nil, &Error{Path: x.file.Path, Reason: ErrSpace, Msg: "no room for the heap"}
		}
		p.Brk, p.BrkLimit = brk, brk+BrkSize
	}
	if err := x.stack(m, p, envv, aux, o); err != nil {
		return nil, err
	}
	return p, nil
}

// readAt reads exactly n bytes at off.
func readAt(f *File, off int64, n int) ([]byte, error) {
	b := make([]byte, n)
	got, err := f.ReadAt(b, off)
	if got == n {
		return b, nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return b[:got], err
}

// Name returns the path the program was asked for by: AT_EXECFN, and what its comm is taken from.
func (x *Executable) Name() string { return x.name }
