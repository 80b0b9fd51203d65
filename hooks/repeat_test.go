package hooks

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/x86"
)

func TestRepeatOf(t *testing.T) {
	for _, tt := range []struct {
		name string
		code []byte
		want Repeat
	}{
		{"movsb", []byte{0xa4}, NoRepeat},
		{"rep movsb", []byte{0xf3, 0xa4}, RepeatCount},
		{"rep stosq", []byte{0xf3, 0x48, 0xab}, RepeatCount},
		{"rep lodsb", []byte{0xf3, 0xac}, RepeatCount},
		{"repe cmpsb", []byte{0xf3, 0xa6}, RepeatEqual},
		{"repne scasb", []byte{0xf2, 0xae}, RepeatUnequal},
		{"repne cmpsb", []byte{0xf2, 0xa6}, RepeatUnequal},
		{"repne movsb", []byte{0xf2, 0xa4}, RepeatCount},
		{"add", []byte{0x01, 0xc0}, NoRepeat},
		{"rep ret", []byte{0xf3, 0xc3}, NoRepeat},
	} {
		var i x86.Inst
		require.NoError(t, x86.Decode(tt.code, &i), tt.name)
		require.Equal(t, tt.want, RepeatOf(&i), tt.name)
		require.Equal(t, NoRepeat, CountedRepeat(&i, &emu.Config{RepOnce: true}), tt.name)
	}
}

func TestRequestAt(t *testing.T) {
	tails := map[byte]Request{0xdb: CallTool, 0xc9: OriginalAddr, 0xd2: CallOriginal, 0xff: Inject, 0xc0: NoRequest}
	for tail, want := range tails {
		code := append([]byte(preamble), 0x48, 0x87, tail)
		require.Len(t, code, RequestLen)
		require.Equal(t, want, RequestAt(code), "tail %#x", tail)
		require.Equal(t, NoRequest, RequestAt(code[:RequestLen-1]), "cut short")
		for i := range code[:18] {
			code[i] ^= 1
			require.Equal(t, NoRequest, RequestAt(code), "byte %d differs", i)
			code[i] ^= 1
		}
	}
}
