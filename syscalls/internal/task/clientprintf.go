package task

import (
	"fmt"
	"strings"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// clientPrintf prints what VALGRIND_PRINTF was given to the log, and returns the number of characters.
func (t *Thread) clientPrintf(args [5]uint64) uint64 {
	format, ok := t.Process.Mem.ReadString(emu.Addr(args[0]), linux.PATH_MAX)
	if !ok {
		return 0
	}
	va := vaList{t: t, at: emu.Addr(args[1])}
	var out strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			out.WriteByte(format[i])
			continue
		}
		j := i + 1
		for j < len(format) && strings.IndexByte("0123456789-+ #.hlzjt*", format[j]) >= 0 {
			j++
		}
		if j >= len(format) {
			break
		}
		out.WriteString(va.format(format[i+1:j], format[j]))
		i = j
	}
	text := out.String()
	fmt.Fprintf(t.Kernel.Config.Log, "**%d** %s", t.Process.PID, text)
	return uint64(len(text))
}

// A vaList reads the arguments of a va_list (psABI, "The va_list Type").
type vaList struct {
	t  *Thread
	at emu.Addr
}

// next returns the next integer argument.
func (v *vaList) next() uint64 {
	m := v.t.Process.Mem
	gp, _ := m.ReadUint32(v.at)
	if gp < 48 {
		area, _ := m.ReadUint64(v.at + 16)
		x, _ := m.ReadUint64(emu.Addr(area) + emu.Addr(gp))
		m.WriteUint32(v.at, gp+8)
		return x
	}
	over, _ := m.ReadUint64(v.at + 8)
	x, _ := m.ReadUint64(emu.Addr(over))
	m.WriteUint64(v.at+8, over+8)
	return x
}

// format formats one argument for a conversion with the given flags.
func (v *vaList) format(flags string, conv byte) string {
	long := strings.ContainsAny(flags, "lzjt")
	flags = strings.Trim(flags, "hlzjt")
	if conv == '%' {
		return "%"
	}
	for strings.Contains(flags, "*") {
		flags = strings.Replace(flags, "*", fmt.Sprint(int32(v.next())), 1)
	}
	x := v.next()
	switch conv {
	case 'd', 'i':
		if !long {
			return fmt.Sprintf("%"+flags+"d", int32(x))
		}
		return fmt.Sprintf("%"+flags+"d", int64(x))
	case 'u', 'x', 'X', 'o':
		if !long {
			x = uint64(uint32(x))
		}
		if conv == 'u' {
			conv = 'd'
		}
		return fmt.Sprintf("%"+flags+string(conv), x)
	case 'p':
		return fmt.Sprintf("%#x", x)
	case 'c':
		return string(rune(byte(x)))
	case 's':
		s, ok := v.t.Process.Mem.ReadString(emu.Addr(x), linux.PATH_MAX)
		if !ok {
			s = "(null)"
		}
		return fmt.Sprintf("%"+flags+"s", s)
	}
	return ""
}
