package main

import (
	"fmt"
	"strconv"
	"strings"
)

// A form is one parsed line.
type form struct {
	line     int
	maps     int      // index into mapNames
	opcodes  []int    // the opcode bytes it stands for
	sel      selector // what else must match
	modRM    bool
	mnemonic string
	args     []operand
	features []string
	flow     string
	opSize   string
	attrs    []string
	flags    flagSets
	gpr      [2]uint16 // read, written
	refs     []refItem
	noRefs   bool // ref=-
	hasRefs  bool
	bcast    int
	disp8    int
	elem     int
}

type operand struct {
	loc, size, access string
}

type flagSets struct{ read, written string }

type refItem struct {
	kind, at, guard            string
	bit, size, off, count, div int
}

// mapNames are the opcode maps in the order of the map constants of package x86.
var mapNames = []string{"", "0F", "0F38", "0F3A", "VEX.0F", "VEX.0F38", "VEX.0F3A", "EVEX.0F", "EVEX.0F38", "EVEX.0F3A", "EVEX.M5", "EVEX.M6", "XOP.8", "XOP.9", "XOP.A"}

func parse(file, text string) ([]*form, error) {
	var forms []*form
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		f, err := parseLine(line)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, i+1, err)
		}
		f.line = i + 1
		forms = append(forms, f)
	}
	return forms, nil
}

func parseLine(line string) (*form, error) {
	left, right, ok := strings.Cut(line, ";")
	words, attrs := strings.Fields(left), strings.Fields(right)
	if !ok || len(words) < 2 || len(attrs) < 1 {
		return nil, fmt.Errorf("want ENCODING MNEMONIC OPERANDS ; FEATURE ATTRIBUTES")
	}
	f := &form{mnemonic: words[1], sel: anything()}
	if err := f.encoding(words[0]); err != nil {
		return nil, err
	}
	f.features = strings.Split(attrs[0], ":")
	for _, w := range words[2:] {
		if err := f.operand(w); err != nil {
			return nil, err
		}
	}
	for _, a := range attrs[1:] {
		if err := f.attribute(a); err != nil {
			return nil, err
		}
	}
	f.finish()
	return f, nil
}

// encoding parses the first column.
func (f *form) encoding(s string) error {
	s, conds, _ := strings.Cut(s, ",")
	s, modrm, hasModRM := strings.Cut(s, "/")
	parts := strings.Split(s, ".")
	opcode := parts[len(parts)-1]
	parts = parts[:len(parts)-1]
	prefix := ""
	switch {
	case len(parts) > 0 && (parts[0] == "VEX" || parts[0] == "EVEX" || parts[0] == "XOP"):
		if err := f.vex(parts); err != nil {
			return err
		}
		prefix = mapNames[f.maps]
	case len(parts) > 0:
		if err := f.prefixes(parts[0]); err != nil {
			return err
		}
	}
	if prefix == "" {
		for _, m := range []string{"0F38", "0F3A", "0F"} {
			if strings.HasPrefix(opcode, m) && len(opcode) > len(m) {
				f.maps, opcode = mapIndex(m), opcode[len(m):]
				break
			}
		}
	}
	if err := f.opcode(opcode); err != nil {
		return err
	}
	if hasModRM {
		f.modRM = true
		if err := f.modrm(modrm); err != nil {
			return err
		}
	}
	if conds != "" {
		for _, c := range strings.Split(conds, ",") {
			if err := f.condition(c); err != nil {
				return err
			}
		}
	}
	return nil
}

func mapIndex(name string) int {
	for i, m := range mapNames {
		if m == name {
			return i
		}
	}
	return -1
}

// prefixes parses NP, 66, F3, F2, joined by |.
func (f *form) prefixes(s string) error {
	f.sel[byPrefix] = 0
	for _, p := range strings.Split(s, "|") {
		i := strings.Index("NP66F3F2", p)
		if i < 0 || len(p) != 2 {
			return fmt.Errorf("unknown prefix %q", p)
		}
		f.sel[byPrefix] |= 1 << (i / 2)
	}
	return nil
}

// vex parses VEX.L.pp.MAP[.W], the same with EVEX, and XOP.L.MAP[.W].
func (f *form) vex(parts []string) error {
	lengths := map[string]uint16{"L0": 1, "L1": 2, "L2": 4, "L12": 6, "Lx": 7, "LIG": 0}
	l, ok := lengths[parts[1]]
	if !ok {
		return fmt.Errorf("unknown length %q", parts[1])
	}
	if f.sel[byL] = l; parts[1] == "LIG" {
		f.sel[byL] = lengths["Lx"]
		f.attrs = append(f.attrs, "LIG")
	}
	kind, rest := parts[0], parts[2:]
	if kind == "XOP" {
		f.sel[byPrefix] = 1
	} else {
		if err := f.prefixes(rest[0]); err != nil {
			return err
		}
		rest = rest[1:]
	}
	if f.maps = mapIndex(kind + "." + rest[0]); f.maps < 0 {
		return fmt.Errorf("unknown map %q", kind+"."+rest[0])
	}
	if len(rest) > 1 {
		return f.condition(strings.ToLower(rest[1]))
	}
	return nil
}

func (f *form) opcode(s string) error {
	s, plus, _ := strings.Cut(s, "+")
	n, err := strconv.ParseUint(s, 16, 8)
	if err != nil {
		return fmt.Errorf("bad opcode: %w", err)
	}
	count := map[string]int{"": 1, "r": 8, "c": 16}[plus]
	for i := range count {
		f.opcodes = append(f.opcodes, int(n)+i)
	}
	return nil
}

// modrm parses what follows the slash.
func (f *form) modrm(s string) error {
	s, eight := strings.CutSuffix(s, "+i")
	switch n, err := strconv.ParseUint(s, 16, 8); {
	case s == "r":
	case strings.HasPrefix(s, "rm"):
		f.sel[byMod], f.sel[byRM] = 2, 1<<(s[2]-'0')
	case err == nil && len(s) == 2 && n >= 0xc0 && s[0] >= 'A':
		f.sel[byMod], f.sel[byReg] = 2, 1<<(n>>3&7)
		if !eight {
			f.sel[byRM] = 1 << (n & 7)
		}
	default:
		f.sel[byReg] = 0
		for _, d := range s {
			if d < '0' || d > '7' {
				return fmt.Errorf("bad ModRM %q", s)
			}
			f.sel[byReg] |= 1 << (d - '0')
		}
	}
	return nil
}

func (f *form) condition(s string) error {
	switch {
	case s == "w0" || s == "w1":
		f.sel[byW] = 1 << (s[1] - '0')
	case s == "b1":
		f.sel[byB] = 2
	case strings.HasPrefix(s, "o"):
		f.sel[byOpSize] = 0
		for _, o := range strings.Split(s[1:], "o") {
			f.sel[byOpSize] |= map[string]uint16{"16": 1, "32": 2, "64": 4}[o]
		}
	default:
		return fmt.Errorf("unknown condition %q", s)
	}
	return nil
}
