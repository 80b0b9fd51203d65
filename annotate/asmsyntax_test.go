package annotate

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/cgout"
)

// TestAsmSyntax renders bytes in other syntaxes. What golang.org/x/arch gets wrong on its own is mended; what it does
// not know keeps the text of the profile.
func TestAsmSyntax(t *testing.T) {
	for _, tt := range []struct{ name, code, gnu, plan9 string }{
		{"registers", "4889c8", "mov %rcx,%rax", "MOVQ CX, AX"},
		{"a negative displacement of 32 bits", "488b8500ffffff", "mov -0x100(%rbp),%rax", "MOVQ -0x100(BP), AX"},
		{"RSP as base", "488b442408", "mov 0x8(%rsp),%rax", "MOVQ 0x8(SP), AX"},
		{"R12 as base", "498b4424f8", "mov -0x8(%r12),%rax", "MOVQ -0x8(R12), AX"},
		{"RIP-relative", "488b0500ffffff", "mov -0x100(%rip),%rax", "MOVQ -0x100(IP), AX"},
		{"RIP-relative with VEX", "c5fb590510000000", "vmulsd 0x10(%rip),%xmm0,%xmm0", "VMULSD 0x10(IP), X0, X0"},
		{"a segment", "64488b042528000000", "mov %fs:0x28,%rax", "MOVQ FS:0x28, AX"},
		{"a branch", "75fe", "jne 0x1000", "JNE 0x1000"},
		{"FMA4", "c4e3f96bc920", "text", "text"},
		{"a prefix and what is not known behind it", "f30f1efa", "text", "text"},
		{"not all of it", "c3c3", "text", "text"},
		{"nothing", "", "text", "text"},
	} {
		code, err := hex.DecodeString(tt.code)
		require.NoError(t, err)
		in := &cgout.Insn{Addr: 0x1000, Code: code, Text: "text"}
		require.Equal(t, tt.gnu, assembly(in, "gnu"), tt.name)
		require.Equal(t, tt.plan9, assembly(in, "go"), tt.name)
		require.Equal(t, "text", assembly(in, "intel"), tt.name)
		require.Equal(t, "text", assembly(in, ""), tt.name)
	}
}
