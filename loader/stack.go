package loader

import (
	"encoding/binary"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
)

// Two ways to fill the top of the stack. Both have, upwards from RSP, argc, argv,
// NULL, envp, NULL, auxv (psABI, "Initial Stack and Register State").
//
// Fixed, the default: RSP is a multiple of fixedBlock below the stack's end, and
// every string begins on a boundary of fixedAlign, so that neither the length of a
// path, argument or variable nor its contents move the stack or another string's
// place within a cache line or a vector:
//
//	StackEnd - n*fixedBlock   argc, argv, envp, auxv          <- RSP
//	                 + vectors, rounded up to fixedVectors    AT_RANDOM, AT_PLATFORM
//	                 then, each on fixedAlign                 AT_EXECFN, argv[i], envp[i]
//
// Packed, for Compat, as Valgrind 3.19's initimg-linux.c: strings end (almost) at
// the stack's end, RSP is just below the vectors, on 16 bytes.
const (
	fixedBlock   = 1 << 20 // beyond the size of a way of any usual LL cache
	fixedVectors = 16 << 10
	fixedAlign   = 64
)

// MaxArg is how long one argument or variable may be, with its end (MAX_ARG_STRLEN).
const MaxArg = 32 * emu.PageSize

// ArgsLimit is how many bytes arguments, environment and the program's name may take together, with their ends and
// pointers, for a program with a stack of so many bytes (fs/exec.c, bprm_stack_limits).
func ArgsLimit(stack uint64) uint64 { return max(min(stack/4, 6<<20), MaxArg) }

// CheckArgs returns an error if the program, with this environment and stack, has too many arguments, or too long ones.
func (x *Executable) CheckArgs(envv []string, stack uint64) error {
	total := uint64(len(x.name)) + 1
	for _, v := range [][]string{x.argv, envv} {
		for _, s := range v {
			if len(s) >= MaxArg {
				return &Error{Path: x.file.Path, Reason: ErrArgs, Msg: ErrArgs.Error()}
			}
			total += uint64(len(s)) + 9
		}
	}
	if total > ArgsLimit(stack) {
		return &Error{Path: x.file.Path, Reason: ErrArgs, Msg: ErrArgs.Error()}
	}
	return nil
}

// A placed string has its address.
type placed struct {
	addr emu.Addr
	data []byte
}

// An image of the stack's top: vectors at sp, strings above.
type stackImage struct {
	sp         emu.Addr
	argv, envp []emu.Addr
	// Where what auxv points to is.
	random, execfn, platform emu.Addr
	strings                  []placed
}

func (s *stackImage) place(a emu.Addr, data []byte) emu.Addr {
	s.strings = append(s.strings, placed{a, data})
	return a
}

// vectorSize is the size of argc, argv, envp and auxv.
func vectorSize(argc, envc, auxc int) uint64 {
	return 8 * uint64(1+argc+1+envc+1+2*auxc)
}

func cstring(s string) []byte { return append([]byte(s), 0) }

// layFixed lays the default stack out.
func layFixed(argv, envv []string, execfn string, random []byte, auxc int) *stackImage {
	size := (vectorSize(len(argv), len(envv), auxc) + fixedVectors - 1) &^ (fixedVectors - 1)
	s := &stackImage{}
	next := emu.Addr(size) // relative to sp
	add := func(b []byte) emu.Addr {
		a := s.place(next, b)
		next = (next + emu.Addr(len(b)) + fixedAlign - 1) &^ (fixedAlign - 1)
		return a
	}
	s.random = add(random)
	s.platform = add(cstring(platform))
	s.execfn = add(cstring(execfn))
	for _, a := range argv {
		s.argv = append(s.argv, add(cstring(a)))
	}
	for _, e := range envv {
		s.envp = append(s.envp, add(cstring(e)))
	}
	// One page stays free at the top: programs may look a little above a string.
	s.sp = mem.StackEnd - (next+emu.PageSize+fixedBlock-1)&^(fixedBlock-1)
	s.bias(s.sp)
	return s
}

// bias adds d to every address but sp.
func (s *stackImage) bias(d emu.Addr) {
	for i := range s.argv {
		s.argv[i] += d
	}
	for i := range s.envp {
		s.envp[i] += d
	}
	for i := range s.strings {
		s.strings[i].addr += d
	}
	s.random += d
	s.execfn += d
	s.platform += d
}

// layPacked lays the stack out as Valgrind does. auxv decides the order of the
// strings that it points to.
func layPacked(argv, envv []string, execfn string, random []byte, auxv []Aux) *stackImage {
	var size uint64
	for _, v := range [][]string{argv, envv} {
		for _, a := range v {
			size += uint64(len(a)) + 1
		}
	}
	for _, a := range auxv {
		switch a.Type {
		case ATRandom:
			size += uint64(len(random))
		case ATExecfn:
			size += uint64(len(execfn)) + 1
		case ATPlatform:
			size += uint64(len(platform)) + 1
		}
	}
	// Valgrind takes the address of the last byte for the end: both roundings begin there.
	const last = mem.StackEnd - 1
	s := &stackImage{}
	next := last - emu.Addr((size+3)&^3)
	add := func(b []byte) emu.Addr {
		a := s.place(next, b)
		next += emu.Addr(len(b))
		return a
	}
	for _, a := range argv {
		s.argv = append(s.argv, add(cstring(a)))
	}
	for _, e := range envv {
		s.envp = append(s.envp, add(cstring(e)))
	}
	for _, a := range auxv {
		switch a.Type {
		case ATRandom:
			s.random = add(random)
		case ATExecfn:
			s.execfn = add(cstring(execfn))
		case ATPlatform:
			s.platform = add(cstring(platform))
		}
	}
	s.sp = (last - emu.Addr((size+7)&^7+vectorSize(len(argv), len(envv), len(auxv)))) &^ 15
	return s
}

// stack maps the stack, fills its top, and sets p's Stack, StackLo and Auxv.
func (x *Executable) stack(m *mem.Space, p *Program, envv []string, info auxInfo, o Options) error {
	auxv := auxvFor(info, o)
	var s *stackImage
	if o.Compat {
		s = layPacked(p.Argv, envv, x.name, o.Random[:], auxv)
	} else {
		s = layFixed(p.Argv, envv, x.name, o.Random[:], len(auxv))
	}
	for i := range auxv {
		switch auxv[i].Type {
		case ATRandom:
			auxv[i].Value = uint64(s.random)
		case ATExecfn:
			auxv[i].Value = uint64(s.execfn)
		case ATPlatform:
			auxv[i].Value = uint64(s.platform)
		}
	}
	p.Stack, p.Auxv, p.ArgAddrs, p.EnvAddrs = s.sp, auxv, s.argv, s.envp
	p.StackLo = mem.StackEnd - emu.Addr(o.StackSize).PageUp()
	if !o.Compat {
		// What the strings take is not taken from the program.
		p.StackLo -= mem.StackEnd - s.sp
	}
	prot := mem.Read | mem.Write
	if x.elf.execStack {
		prot |= mem.Exec
	}
	if p.StackLo > mem.StackEnd || !m.Free(p.StackLo, mem.StackEnd) {
		return &Error{Path: x.file.Path, Reason: ErrSpace, Msg: "the program lies where its stack must be"}
	}
	err := m.Map(mem.VMA{Lo: p.StackLo, Hi: mem.StackEnd, Prot: prot, Path: "[stack]", GrowsDown: true}, nil)
	if err != nil {
		return &Error{Path: x.file.Path, Reason: ErrSpace, Msg: "mapping its stack: " + err.Error()}
	}
	s.write(m, auxv)
	return nil
}

// write puts s into memory.
func (s *stackImage) write(m *mem.Space, auxv []Aux) {
	for _, str := range s.strings {
		m.Poke(str.addr, str.data)
	}
	le := binary.LittleEndian
	v := le.AppendUint64(nil, uint64(len(s.argv)))
	for _, a := range s.argv {
		v = le.AppendUint64(v, uint64(a))
	}
	v = le.AppendUint64(v, 0)
	for _, a := range s.envp {
		v = le.AppendUint64(v, uint64(a))
	}
	v = le.AppendUint64(v, 0)
	for _, a := range auxv {
		v = le.AppendUint64(v, a.Type)
		v = le.AppendUint64(v, a.Value)
	}
	m.Poke(s.sp, v)
}
