package x86

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDecode compares instructions with testdata/decode.txt: bytes, a comment,
// what Decode finds. The last column was printed by Decode and then read over
// row by row, so it guards against change more than it proves; the oracles prove.
func TestDecode(t *testing.T) {
	f, err := os.Open("testdata/decode.txt")
	require.NoError(t, err)
	defer f.Close()
	rows := 0
	for s := bufio.NewScanner(f); s.Scan(); {
		line := s.Text()
		if line == "" || line[0] == '#' {
			continue
		}
		col := strings.Split(line, "|")
		require.Len(t, col, 3, line)
		var inst Inst
		err := Decode(unhex(t, col[0]), &inst)
		got := summary(&inst)
		if err != nil {
			got = strings.TrimPrefix(err.Error(), "x86: ")
		}
		require.Equal(t, strings.TrimSpace(col[2]), got, "%s|%s", col[0], col[1])
		rows++
	}
	require.Greater(t, rows, 100)
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(strings.TrimSpace(s), " ", ""))
	require.NoError(t, err)
	return b
}

// summary writes what matters of inst in one line: Op.OpSize, operands, flow;
// registers and flags read > written; references.
func summary(i *Inst) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s.%d %s", i.Op, i.OpSize, i.Feature)
	for _, a := range i.Args[:i.NArgs] {
		fmt.Fprintf(&b, " %s", argString(i, a))
	}
	if i.Flow != FlowNext {
		fmt.Fprintf(&b, " flow%d", i.Flow)
	}
	fmt.Fprintf(&b, "; %s>%s %s>%s", regSet(i.GPRRead), regSet(i.GPRWrite), flagSet(i.FlagsRead), flagSet(i.FlagsWrite))
	if i.VecRead|i.VecWrite != 0 {
		fmt.Fprintf(&b, " v%#x>%#x", i.VecRead, i.VecWrite)
	}
	b.WriteString(";")
	for r := range i.References {
		fmt.Fprintf(&b, " %c%d%s", "RWM"[r.Kind], r.Size, [...]string{"", "@rsi", "@rdi", "@rsp", "@rbp", "@xlat", "@bits", "@vsib"}[r.At])
		if r.Off != 0 {
			fmt.Fprintf(&b, "%+d", r.Off)
		}
		switch {
		case r.Guard == MaskLane:
			fmt.Fprintf(&b, "?%d", r.Lane)
		case r.Guard == XSaveBit:
			fmt.Fprintf(&b, "?x%d", r.Lane)
		case r.Guard == OpmaskBit:
			fmt.Fprintf(&b, "?k%d.%d", i.Mask, r.Lane)
		case r.Guard == OpmaskAny:
			fmt.Fprintf(&b, "?k%d.%d+", i.Mask, r.Lane)
		case r.Guard == OpmaskCount:
			fmt.Fprintf(&b, "?k%d>%d", i.Mask, r.Lane)
		}
	}
	return b.String()
}

func argString(i *Inst, a Arg) string {
	switch a.Kind {
	case ArgMem:
		return fmt.Sprintf("%s:%d", memString(&i.Mem), a.Size)
	case ArgImm:
		return fmt.Sprintf("$%#x", a.Imm)
	case ArgRel:
		return fmt.Sprintf("%+d", i.Target)
	case ArgGPR:
		if a.High8 {
			return fmt.Sprintf("r%dh", a.Reg)
		}
		return fmt.Sprintf("r%d:%d", a.Reg, a.Size)
	case ArgXMM:
		return fmt.Sprintf("v%d:%d", a.Reg, a.Size)
	}
	return fmt.Sprintf("%c%d", "...... msSCDk"[a.Kind], a.Reg)
}

func memString(m *Mem) string {
	s := []string{"", "fs", "gs"}[m.Seg] + "["
	if m.AddrSize == 4 {
		s += "a32 "
	}
	switch {
	case m.RIPRel:
		s += "rip"
	case m.Base != NoReg:
		s += fmt.Sprintf("r%d", m.Base)
	}
	if m.Index != NoReg {
		s += fmt.Sprintf("+%c%d*%d", map[bool]rune{false: 'r', true: 'v'}[m.VSIB], m.Index, m.Scale)
	}
	return s + fmt.Sprintf("%+#x]", m.Disp)
}

func regSet(m uint16) string {
	s := ""
	for i, n := range strings.Fields("ax cx dx bx sp bp si di 8 9 10 11 12 13 14 15") {
		if m>>i&1 != 0 {
			s += "," + n
		}
	}
	if m == 0xffff {
		return "all"
	}
	return strings.TrimPrefix(s, ",")
}

func flagSet(f Flags) string {
	if f == StatusFlags {
		return "*"
	}
	s := ""
	for i, c := range "C.P.A.ZS..DO" {
		if f>>i&1 != 0 {
			s += string(c)
		}
	}
	return s
}
