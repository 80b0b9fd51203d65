package x86

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFormat(t *testing.T) {
	for code, want := range map[string]string{
		"90":                   "nop",
		"4889c8":               "mov rax,rcx",
		"8a6501":               "mov ah,BYTE PTR [rbp+0x1]",
		"488b0500100000":       "mov rax,QWORD PTR [rip+0x1000]",
		"64488b042528000000":   "mov rax,QWORD PTR fs:0x28",
		"8b042500100000":       "mov eax,DWORD PTR ds:0x1000",
		"67428b4ca8f0":         "mov ecx,DWORD PTR [eax+r13d*4-0x10]",
		"48b8efcdab8967452301": "movabs rax,0x123456789abcdef",
		"83e8ff":               "sub eax,0xffffffff",
		"6683c0ff":             "add ax,0xffff",
		"488d0500000000":       "lea rax,[rip+0x0]",
		"75fe":                 "jne 0x401000",
		"e8fbffffff":           "call 0x401000",
		"f0480fb10f":           "lock cmpxchg QWORD PTR [rdi],rcx",
		"f348a5":               "rep movsq",
		"f2ae":                 "repnz scasb",
		"f3a6":                 "repz cmpsb",
		"0f94c0":               "sete al",
		"480f4fc8":             "cmovg rcx,rax",
		"d9c1":                 "fld st(1)",
		"c4e2ed93048da0000000": "vgatherqpd ymm0,QWORD PTR [ymm1*4+0xa0],ymm2",
		"c5fd6f07":             "vmovdqa ymm0,YMMWORD PTR [rdi]",
		"410f6f2424":           "movq mm4,QWORD PTR [r12]",
		"0fa2":                 "cpuid",
		"8cd8":                 "mov eax,ds",
	} {
		b, err := hex.DecodeString(code)
		require.NoError(t, err)
		var i Inst
		require.NoError(t, Decode(b, &i), code)
		require.Equal(t, want, i.Format(0x401000), code)
	}
}

// FuzzFormat formats whatever decodes.
func FuzzFormat(f *testing.F) {
	f.Add([]byte{0x62, 0xf1, 0x7c, 0x48, 0x10, 0x07})
	f.Add([]byte{0xc4, 0xe2, 0xfd, 0x93, 0x04, 0x8d, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, code []byte) {
		var i Inst
		if Decode(code, &i) == nil {
			require.NotEmpty(t, strings.TrimSpace(i.Format(0)))
		}
	})
}
