package main

import (
	"fmt"
	"strconv"
	"strings"
)

var (
	locNames = map[string]string{
		"E": "locE", "R": "locR", "M": "locM", "G": "locG", "B": "locB", "Z": "locZ", "V": "locV", "H": "locH", "L": "locL",
		"W": "locW", "U": "locU", "P": "locP", "Q": "locQ", "N": "locN", "S": "locS", "C": "locC", "D": "locD", "I": "locI",
		"u": "locu", "J": "locJ", "O": "locO", "a": "locA", "Kr": "locKr", "Kh": "locKh", "Km": "locKm", "Kw": "locKw",
		"Tr": "locTr", "Th": "locTh", "Tm": "locTm",
	}
	// fixedLocs are operands that are written as a whole.
	fixedLocs = map[string]operand{
		"cb": {"locCL", "1", ""}, "dw": {"locDX", "2", ""}, "1": {"loc1", "1", ""}, "x0": {"locX0", "16", ""},
		"st0": {"locST0", "10", ""}, "sti": {"locSTi", "10", ""}, "fs": {"locFS", "2", ""}, "gs": {"locGS", "2", ""},
	}
	sizeNames = map[string]string{
		"b": "1", "w": "2", "d": "4", "q": "8", "t": "10", "dq": "16", "qq": "32", "oo": "64",
		"v": "sizeV", "z": "sizeZ", "y": "sizeY", "p": "sizeP", "x": "sizeX", "h": "sizeH", "f": "sizeF", "e": "sizeE",
	}
	accessNames = map[string]string{"": "accessR", "=": "accessW", "+": "accessRW"}
)

// operand parses one operand.
func (f *form) operand(s string) error {
	access := ""
	if n := len(s) - 1; s[n] == '=' || s[n] == '+' {
		s, access = s[:n], s[n:]
	}
	op, ok := fixedLocs[s]
	if !ok {
		n := 1
		if s[0] == 'K' || s[0] == 'T' {
			n = 2
		}
		if op.loc, ok = locNames[s[:n]]; !ok {
			return fmt.Errorf("unknown operand %q", s)
		}
		switch size := s[n:]; {
		case size == "":
			op.size = "0"
			if strings.Contains("VHLWU", s[:1]) {
				op.size = "sizeX"
			}
		case sizeNames[size] != "":
			op.size = sizeNames[size]
		default:
			if _, err := strconv.Atoi(size); err != nil {
				return fmt.Errorf("unknown size in %q", s)
			}
			op.size = size
		}
	}
	op.access = accessNames[access]
	f.args = append(f.args, op)
	return nil
}

// attribute parses one attribute.
func (f *form) attribute(a string) error {
	key, val, hasVal := strings.Cut(a, "=")
	if !hasVal {
		return f.word(a)
	}
	switch key {
	case "r":
		f.flags.read += val
	case "w":
		f.flags.written += val
	case "u", "c":
		f.flags.read += val
		f.flags.written += val
	case "gr", "gw":
		i := strings.Index("gr gw", key) / 3
		for _, r := range strings.Split(val, ",") {
			m, err := gprMask(r)
			if err != nil {
				return err
			}
			f.gpr[i] |= m
		}
	case "vw":
		f.attrs = append(f.attrs, "WriteX0")
	case "os":
		f.opSize = val
	case "flow":
		f.flow = val
	case "ref":
		f.hasRefs = true
		if val == "-" {
			f.noRefs = true
			return nil
		}
		for _, r := range strings.Split(val, ",") {
			item, err := parseRef(r)
			if err != nil {
				return err
			}
			f.refs = append(f.refs, item)
		}
	default:
		return fmt.Errorf("unknown attribute %q", a)
	}
	return nil
}

var attrNames = map[string]string{
	"nomod": "NoMem", "lock": "Lock", "lock1": "Lock1", "rep": "Rep", "repcc": "RepCC", "cc": "CC", "count": "Count",
	"zero": "Zero", "vsib": "VSIB", "x87": "X87", "enter": "Enter", "norip": "NoRIP", "sib": "SIB", "allvec": "AllVec",
	"distinct": "Distinct", "er": "ER", "sae": "SAE", "nf": "NF", "packs": "Packs", "repeats": "Repeats",
}

func (f *form) word(a string) error {
	if name := attrNames[a]; name != "" {
		f.attrs = append(f.attrs, name)
		return nil
	}
	switch n, err := strconv.Atoi(a[1:]); {
	case a == "all":
		f.gpr = [2]uint16{0xffff, 0xffff}
		f.flags = flagSets{"*D", "*D"}
	case a[0] == 'b' && err == nil:
		f.bcast = n
	case a[0] == 'n' && err == nil:
		f.disp8 = n
	case a[0] == 'm' && err == nil:
		f.elem = n
	default:
		return fmt.Errorf("unknown attribute %q", a)
	}
	return nil
}

func gprMask(name string) (uint16, error) {
	if name == "all" {
		return 0xffff, nil
	}
	for i, n := range strings.Fields("ax cx dx bx sp bp si di r8 r9 r10 r11") {
		if n == name {
			return 1 << i, nil
		}
	}
	return 0, fmt.Errorf("unknown register %q", name)
}

var placeNames = map[string]string{
	"": "placeMem", "mem": "placeMem", "rsi": "placeRSI", "rdi": "placeRDI", "rsp": "placeRSP", "rbp": "placeRBP",
	"push": "placePush", "pop": "placePop", "xlat": "placeXlat", "bits": "placeBits", "vsib": "placeVSIB",
}

// parseRef parses KIND[SIZE][@PLACE][+OFFSET][*COUNT][?GUARD].
func parseRef(s string) (refItem, error) {
	r := refItem{count: 1, guard: "Always"}
	s, guard, _ := strings.Cut(s, "?")
	switch {
	case guard == "m":
		r.guard = "MaskLane"
	case guard == "k":
		r.guard = "OpmaskBit"
	case guard != "":
		r.guard, r.bit = "XSaveBit", int(guard[1]-'0')
	}
	s, count, ok := strings.Cut(s, "*")
	if div, found := strings.CutPrefix(count, "x/"); found {
		r.count, r.div = 0, atoi(div)
	} else if ok {
		r.count = atoi(count)
	}
	s, off, _ := strings.Cut(s, "+")
	r.off = atoi(off)
	s, place, _ := strings.Cut(s, "@")
	if r.at = placeNames[place]; r.at == "" {
		return r, fmt.Errorf("unknown place %q", place)
	}
	kinds := map[byte]string{'R': "Read", 'W': "Write", 'M': "Modify"}
	if s == "" || kinds[s[0]] == "" {
		return r, fmt.Errorf("bad reference %q", s)
	}
	r.kind, r.size = kinds[s[0]], atoi(s[1:])
	return r, nil
}

// atoi reads a number; nothing reads as 0.
func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil && s != "" {
		panic("BUG: not a number: " + s)
	}
	return n
}

var opSizes = map[string]string{
	"v": "opSizeV", "z": "opSizeZ", "y": "opSizeY", "d64": "opSize64", "f64": "opSizeF64", "b": "opSize1", "w": "opSize2",
	"4": "opSize4", "8": "opSize8",
}

// finish derives what follows from the operands.
func (f *form) finish() {
	vector := false
	for _, a := range f.args {
		switch a.loc {
		case "locM":
			f.sel[byMod] &= 1
		case "locR", "locU", "locN", "locKm", "locTm", "locSTi":
			f.sel[byMod] &= 2
		case "locB", "locH", "locKh", "locTh":
			f.attrs = append(f.attrs, "VVVV")
		}
		vector = vector || strings.Contains("locV locH", a.loc)
	}
	for i := range f.args {
		if a := &f.args[i]; a.loc == "locM" && a.size == "0" && vector {
			a.size = "sizeX"
		}
	}
	if has(f.attrs, "NoMem") {
		f.sel[byMod] = 3
	}
	if f.modRM {
		f.attrs = append(f.attrs, "ModRM")
	}
	if f.maps <= 3 && f.sel[byPrefix] == 2 {
		f.attrs = append(f.attrs, "Must66")
	}
	if f.maps == 0 && f.sel[byPrefix] == 2 {
		panic("BUG: one-byte opcode with a 66 that selects")
	}
	if f.opSize = opSizes[f.opSize]; f.opSize == "" {
		f.opSize = f.deriveOpSize()
	}
}

func has(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}

// deriveOpSize gives the operand size of the first operand that has one.
func (f *form) deriveOpSize() string {
	for _, a := range f.args {
		switch {
		case a.size == "sizeV" || a.size == "sizeZ" || a.size == "sizeP":
			return "opSizeV"
		case a.size == "sizeY":
			return "opSizeY"
		}
	}
	for _, a := range f.args {
		switch a.loc {
		case "locE", "locR", "locM", "locG", "locZ", "locA", "locO":
			if strings.Contains("1 2 4 8", a.size) {
				return "opSize" + a.size
			}
		}
	}
	return "opSizeV"
}
