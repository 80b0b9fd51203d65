package x86

import (
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// droppedLoads are rows in which the optimiser of Valgrind, at work when the
// rows were measured, saw from an immediate that a load's value is not needed,
// or that all of it is overwritten. We count what it counts without optimiser:
// the vectors decide. The vector that gives the number of
// references is behind the row; size and order, and rows marked "as", are
// inferred: the vectors hold counts only.
var droppedLoads = map[string]string{
	"andl $0,(%rbx)":                      "M4@+0",          // t03
	"dpps $1,(%rbx),%xmm0":                "L16@+0",         // t25
	"blendps $0,(%rbx),%xmm1":             "L16@+0",         // t25
	"pblendw $0,(%rbx),%xmm1":             "L16@+0",         // as blendps
	"insertps $0x0f,(%rbx),%xmm0":         "L4@+0",          // t25
	"vdpps $0x0f,(%rbx),%ymm0,%ymm0":      "L32@+0",         // as dpps
	"vblendps $0,(%rbx),%ymm1,%ymm1":      "L32@+0",         // t26
	"vpblendd $0,(%rbx),%ymm1,%ymm1":      "L32@+0",         // t26, as with $0xff
	"vperm2f128 $1,(%rbx),%ymm0,%ymm0":    "L16@+0 L16@+16", // t26
	"vperm2f128 $0x31,(%rbx),%ymm0,%ymm0": "L16@+0 L16@+16", // as t26 with $0x20
	"vperm2i128 $0x88,(%rbx),%ymm0,%ymm0": "L16@+0 L16@+16", // as vperm2f128
	"vperm2i128 $0x20,(%rbx),%ymm0,%ymm0": "L16@+0 L16@+16", // as vperm2f128
}

// TestInsnEvents compares References with what Cachegrind sees.
func TestInsnEvents(t *testing.T) {
	text, err := os.ReadFile("testdata/insn_events.txt")
	require.NoError(t, err)
	rows, used := 0, 0
	rfbm := int64(0)
	for _, line := range strings.Split(string(text), "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		col := strings.Split(line, "|")
		require.Len(t, col, 4, line)
		asm := strings.TrimSpace(col[1])
		code, err := hex.DecodeString(strings.TrimSpace(col[0]))
		require.NoError(t, err, line)
		length, want, _ := strings.Cut(strings.TrimSpace(col[2]), " ")
		var inst Inst
		require.NoError(t, Decode(code, &inst), line)
		require.Equal(t, length, strconv.Itoa(int(inst.Len)), line)
		if w, ok := droppedLoads[asm]; ok {
			require.NotEqual(t, w, want, "the row agrees: %s", asm)
			want = w
			used++
		}
		rfbm = trackEAX(asm, rfbm)
		require.Equal(t, want, eventString(&inst, want, rfbm), line)
		rows++
	}
	require.Equal(t, 674, rows)
	require.Equal(t, len(droppedLoads), used)
}

// trackEAX follows what the rows put into EAX for XSAVE and XRSTOR.
func trackEAX(asm string, old int64) int64 {
	if n, ok := strings.CutSuffix(asm, ",%eax"); ok && strings.HasPrefix(n, "mov $") {
		v, _ := strconv.ParseInt(n[len("mov $"):], 0, 64)
		return v
	}
	if asm == "xor %eax,%eax" {
		return 0
	}
	return old
}

// eventString writes the references as the rows do. want is the row: it says
// where clear lanes of a gather went.
func eventString(inst *Inst, want string, rfbm int64) string {
	var list []string
	for r := range inst.References {
		switch r.Guard {
		case MaskLane:
			// ymm2 has its lower half set, ymm3 and ymm4 are zero.
			if mask := inst.Args[1].Reg; mask != 2 || r.Off >= 16 {
				continue
			}
		case XSaveBit:
			if rfbm>>r.Lane&1 == 0 {
				continue
			}
		}
		list = append(list, fmt.Sprintf("%c%d@%s", "LSM"[r.Kind], r.Size, eventPlace(inst, r, want)))
	}
	return strings.Join(list, " ")
}

func eventPlace(inst *Inst, r Ref, want string) string {
	off := int64(r.Off)
	switch r.At {
	case AtRSI:
		return fmt.Sprintf("+%d", off+256)
	case AtRDI:
		return fmt.Sprintf("+%d", off+512)
	case AtRSP, AtRBP:
		return "stk"
	case AtVSIB:
		if strings.Contains(want, "stk") {
			return "stk"
		}
	}
	m := &inst.Mem
	off += m.Disp
	switch {
	case m.Base == RSP:
		return "stk"
	case m.RIPRel, m.Base == NoReg && m.Seg == SegNone && inst.DispLen == 4:
		// An absolute symbol: its address is not known here.
		_, place, _ := strings.Cut(want, "@")
		return place
	case m.Seg == SegFS:
		off += 4096
	case m.Seg == SegGS:
		off += 5120
	}
	return fmt.Sprintf("+%d", off)
}
