package syscalls

import "path"

// Ways of openat2(2) to resolve a path (include/uapi/linux/openat2.h).
const (
	resolveNoXdev       = 0x01
	resolveNoMagiclinks = 0x02
	resolveNoSymlinks   = 0x04
	resolveBeneath      = 0x08
	resolveInRoot       = 0x10
	resolveCached       = 0x20
	resolveAll          = 0x3f
)

const (
	openHowSize = 24 // struct open_how
	openFlags64 = oACCMODE | oCREAT | oEXCL | oNOCTTY | oTRUNC | oAPPEND | oNONBLOCK | oSYNC | oDSYNC | oASYNC | oDIRECT |
		oLARGEFILE | oDIRECTORY | oNOFOLLOW | oNOATIME | oCLOEXEC | oPATH | oTMPFILE
)

// sysOpenat2 implements openat2(2).
func sysOpenat2(t *Thread, a Args) (uint64, Errno) {
	size := a.Uint(3)
	if size < openHowSize {
		return 0, EINVAL
	}
	if size > 4096 {
		return 0, E2BIG
	}
	b, e := t.copyIn(a.Addr(2), int(size))
	if e != 0 {
		return 0, e
	}
	for _, c := range b[openHowSize:] {
		if c != 0 {
			return 0, E2BIG
		}
	}
	flags, mode, rules := int(le64(b)), le64(b[8:]), le64(b[16:])
	makes := flags&oCREAT != 0 || flags&oTMPFILE == oTMPFILE
	switch {
	case flags&^openFlags64 != 0, rules&^resolveAll != 0, rules&resolveBeneath != 0 && rules&resolveInRoot != 0,
		mode != 0 && !makes, mode&^0o7777 != 0, flags&oPATH != 0 && flags&^(oPATH|oDIRECTORY|oNOFOLLOW|oCLOEXEC) != 0,
		flags&oTMPFILE&^oDIRECTORY != 0 && (flags&oTMPFILE != oTMPFILE || flags&oACCMODE == oRDONLY):
		return 0, EINVAL
	case rules&resolveCached != 0 && (makes || flags&oTRUNC != 0):
		return 0, EAGAIN
	}
	s, e := t.path(a.Addr(1))
	if e == 0 && s == "" {
		e = ENOENT
	}
	if e == 0 {
		e = t.reserve()
	}
	if e != 0 {
		return 0, e
	}
	follow := flags&oNOFOLLOW == 0 && flags&(oCREAT|oEXCL) != oCREAT|oEXCL
	l, e := t.locateBy(a.Int(0), s, follow, changing(flags), rules)
	if e != 0 {
		return 0, e
	}
	return t.openFound(l, flags, uint32(mode))
}

// locateBy is find by the rules of openat2(2).
func (t *Thread) locateBy(dirfd int, name string, follow, change bool, rules uint64) (location, Errno) {
	rules &= resolveNoMagiclinks | resolveNoSymlinks | resolveBeneath | resolveInRoot
	if t.noMagic = rules&resolveNoMagiclinks != 0; t.noMagic {
		defer func() { t.noMagic = false }()
	}
	if rules == 0 || name == "" {
		return t.find(dirfd, name, follow, change)
	}
	d, e := t.start(dirfd)
	switch {
	case e != 0 && path.IsAbs(name) && rules&(resolveBeneath|resolveInRoot) == 0:
		d = dirRef{fd: t.k.root.fd}
	case e != 0:
		return location{}, e
	case d.virtual:
		return t.find(dirfd, name, follow, change)
	}
	return t.resolveBy(d, name, follow, rules)
}
