package x86

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzDecode checks what holds for every instruction.
func FuzzDecode(f *testing.F) {
	for _, file := range []string{"testdata/decode.txt", "testdata/insn_events.txt"} {
		text, err := os.ReadFile(file)
		require.NoError(f, err)
		for _, line := range strings.Split(string(text), "\n") {
			if line != "" && line[0] != '#' {
				code, _, _ := strings.Cut(line, "|")
				f.Add(unhex(f, code))
			}
		}
	}
	f.Fuzz(checkDecode)
}

func checkDecode(t *testing.T, code []byte) {
	var inst Inst
	err := Decode(code, &inst)
	if len(code) > MaxLen {
		var cut Inst
		cutErr := Decode(code[:MaxLen], &cut)
		require.Equal(t, err, cutErr, "more than 15 bytes are read")
		if err == nil {
			require.Equal(t, inst, cut, "more than 15 bytes are read")
		}
	}
	if err != nil {
		require.Contains(t, []error{ErrTruncated, ErrUndefined, ErrTooLong}, err)
		require.False(t, err == ErrTruncated && len(code) >= MaxLen)
		require.False(t, err == ErrTooLong && len(code) < MaxLen)
		return
	}
	n := int(inst.Len)
	require.LessOrEqual(t, n, min(len(code), MaxLen))
	dirty := Inst{NArgs: 5, NRefs: 200, Imm: -1, Target: -1, GPRRead: 0xffff, VecWrite: 1, X87: true, HasMem: true, Rep: true, vlen: 9}
	require.NoError(t, Decode(code[:n], &dirty))
	require.Equal(t, inst, dirty, "Decode leaves something of what was there")
	require.Equal(t, ErrTruncated, Decode(code[:n-1], &dirty))
	checkOffsets(t, &inst, code)
	checkRefs(t, &inst)
}

func checkOffsets(t *testing.T, i *Inst, code []byte) {
	t.Helper()
	end := i.OpcodeOff + 1
	require.LessOrEqual(t, i.NPrefix, i.OpcodeOff)
	if i.REX != 0 {
		require.Equal(t, i.REX, code[i.NPrefix])
		require.Equal(t, i.NPrefix+1, i.OpcodeOff)
	}
	if i.ModRMOff != 0 {
		require.Equal(t, i.ModRM, code[i.ModRMOff])
		require.GreaterOrEqual(t, i.ModRMOff, end)
		end = i.ModRMOff + 1
	}
	if i.DispLen != 0 {
		require.True(t, i.HasMem)
		require.GreaterOrEqual(t, i.DispOff, end)
		end = i.DispOff + i.DispLen
	}
	if i.ImmLen != 0 {
		require.GreaterOrEqual(t, i.ImmOff, end)
		end = i.ImmOff + i.ImmLen
		require.Equal(t, i.Len, end)
	}
	require.LessOrEqual(t, end, i.Len)
}

func checkRefs(t *testing.T, i *Inst) {
	t.Helper()
	n := 0
	for r := range i.References {
		require.NotZero(t, r.Size)
		if n < len(i.Refs) {
			require.Equal(t, i.Refs[n], r)
		}
		if r.At == AtMem || r.At == AtBitString || r.At == AtVSIB {
			require.True(t, i.HasMem)
		}
		n++
	}
	require.Equal(t, int(i.NRefs), n)
	for range i.References { // may be left early
		break
	}
}

// TestDecodeRandom is a short run of what FuzzDecode looks for.
func TestDecodeRandom(t *testing.T) {
	seed := uint64(1)
	var code [MaxLen + 3]byte
	for range 100_000 {
		for i := range code {
			seed = seed*6364136223846793005 + 1442695040888963407
			code[i] = byte(seed >> 40)
			if i < 4 && seed>>60 < 6 {
				code[i] = [...]byte{0x0f, 0x66, 0xf3, 0xf2, 0xc4, 0x62}[seed>>60]
			}
		}
		checkDecode(t, code[:])
	}
}
