package loader

import (
	"encoding/binary"

	"github.com/cgemu/cgemu/emu"
)

// An Aux is an entry of the auxiliary vector.
type Aux struct{ Type, Value uint64 }

// Types of auxiliary vector entries (include/uapi/linux/auxvec.h).
const (
	ATNull        = 0
	ATIgnore      = 1
	ATPhdr        = 3
	ATPhent       = 4
	ATPhnum       = 5
	ATPagesz      = 6
	ATBase        = 7
	ATFlags       = 8
	ATEntry       = 9
	ATUID         = 11
	ATEUID        = 12
	ATGID         = 13
	ATEGID        = 14
	ATPlatform    = 15
	ATHwcap       = 16
	ATClktck      = 17
	ATSecure      = 23
	ATRandom      = 25
	ATHwcap2      = 26
	ATExecfn      = 31
	ATSysinfoEhdr = 33
	ATMinSigStack = 51
)

// platform is AT_PLATFORM's string.
const platform = "x86_64"

// clockTicks is AT_CLKTCK, times(2)'s unit: 100 a second on every x86 Linux.
const clockTicks = 100

// auxInfo is what auxv says of the images.
type auxInfo struct {
	entry, phdr, base emu.Addr
	phnum             int
}

// defaultAuxv are the types a program finds by default, in Linux's order.
// AT_SYSINFO_EHDR and the rseq entries are absent: there is no vDSO, and rseq(2) is refused. AT_MINSIGSTKSZ
// comes in front of them with a CPU whose signal frames are larger than MINSIGSTKSZ.
var defaultAuxv = []uint64{
	ATHwcap, ATPagesz, ATClktck, ATPhdr, ATPhent, ATPhnum, ATBase, ATFlags, ATEntry,
	ATUID, ATEUID, ATGID, ATEGID, ATSecure, ATRandom, ATHwcap2, ATExecfn, ATPlatform,
}

// valgrindAuxv is what a recent Linux gives, to be imitated for Compat where the host's is unknown.
var valgrindAuxv = []uint64{
	ATSysinfoEhdr, 51, ATHwcap, ATPagesz, ATClktck, ATPhdr, ATPhent, ATPhnum, ATBase, ATFlags, ATEntry,
	ATUID, ATEUID, ATGID, ATEGID, ATSecure, ATRandom, ATHwcap2, ATExecfn, ATPlatform, 27, 28,
}

// ParseAuxv reads an auxiliary vector as in memory and in /proc/self/auxv.
func ParseAuxv(b []byte) []Aux {
	var out []Aux
	for ; len(b) >= 16; b = b[16:] {
		a := Aux{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])}
		if a.Type == ATNull {
			break
		}
		out = append(out, a)
	}
	return out
}

// auxvFor makes the auxiliary vector, with AT_NULL; addresses of strings are filled in later.
func auxvFor(info auxInfo, o Options) []Aux {
	var in []Aux
	if o.Compat {
		in = o.HostAuxv
	}
	if len(in) == 0 {
		types := defaultAuxv
		if o.Compat {
			types = valgrindAuxv
		}
		if o.MinSigStack > 0 && !o.Compat {
			in = append(in, Aux{Type: ATMinSigStack})
		}
		for _, t := range types {
			in = append(in, Aux{Type: t})
		}
	}
	var out []Aux
	for _, a := range in {
		out = append(out, auxEntry(a, info, o))
	}
	return append(out, Aux{Type: ATNull})
}

// auxEntry gives a its value. For Compat, what Valgrind does not know or hides becomes AT_IGNORE.
func auxEntry(a Aux, info auxInfo, o Options) Aux {
	switch a.Type {
	case ATPhdr:
		a.Value = uint64(info.phdr)
	case ATPhent:
		a.Value = phdrSize
	case ATPhnum:
		a.Value = uint64(info.phnum)
	case ATPagesz:
		a.Value = emu.PageSize
	case ATBase:
		a.Value = uint64(info.base)
	case ATFlags, ATSecure:
		a.Value = 0
	case ATEntry:
		a.Value = uint64(info.entry)
	case ATUID, ATEUID:
		a.Value = o.UID
	case ATGID, ATEGID:
		a.Value = o.GID
	case ATClktck:
		a.Value = clockTicks
	case ATRandom, ATExecfn, ATPlatform:
		a.Value = 0
	case ATHwcap:
		if !o.Compat || a.Value == 0 {
			a.Value = o.HWCap
		}
	case ATHwcap2:
		if o.Compat {
			return Aux{ATIgnore, a.Value}
		}
		a.Value = o.HWCap2
	case ATMinSigStack:
		if o.Compat {
			return Aux{ATIgnore, a.Value}
		}
		a.Value = o.MinSigStack
	case ATSysinfoEhdr:
		// Valgrind keeps the value; a host address must not reach the guest.
		return Aux{Type: ATIgnore}
	default:
		return Aux{ATIgnore, a.Value}
	}
	return a
}
