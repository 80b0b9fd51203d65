package annotate

import (
	"bytes"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/cgout"
)

// asmFiles writes a source, a profile of it and its counts by instruction, and returns the profile's name.
func asmFiles(t *testing.T, insns string) string {
	t.Helper()
	dir := t.TempDir()
	source := filepath.Join(dir, "a.c")
	profile := filepath.Join(dir, "out")
	require.NoError(t, os.WriteFile(source, []byte("int f(void)\n{\n\treturn 1;\n}\n"), 0o600))
	require.NoError(t, os.WriteFile(profile, []byte("cmd: ./a\nevents: Ir Dr\nfl="+source+
		"\nfn=f\n2 30 10\n3 60 0\nfn=g\n4 10 0\nsummary: 100 10\n"), 0o600))
	if insns != "" {
		text := "insns: 1\nevents: Ir Dr\nob=/bin/a\nfl=" + source + "\nfn=f\n" + insns
		require.NoError(t, os.WriteFile(profile+cgout.InsnsSuffix, []byte(text), 0o600))
	}
	return profile
}

func annotateTo(args ...string) (stdout, stderr string, status int) {
	var out, errs bytes.Buffer
	status = Annotate("cgemu annotate", args, &out, &errs)
	return out.String(), errs.String(), status
}

func TestAsm(t *testing.T) {
	profile := asmFiles(t, "1000 2 55 30 10 push rbp\n1001 3 b801000000 30 0 mov eax,0x1\n1006 3 c3 30 0 ret\n")
	out, errs, status := annotateTo("--asm", "--show=Ir,Dr", profile)
	require.Empty(t, errs)
	require.Zero(t, status)
	dir := filepath.Dir(profile)
	require.Equal(t, rule+`
-- Instructions: ./a
`+rule+`
 Ir       %  Dr       %
100  100.0%  10  100.0%  PROGRAM TOTALS

`+rule+`
-- `+dir+`/a.c:f
`+rule+`
Ir      %  Dr       %  address  instruction
                                /bin/a
                                2  {
30  30.0%  10  100.0%  1000         push rbp
                                3  	return 1;
30  30.0%   0    0.0%  1001         mov eax,0x1
30  30.0%   0    0.0%  1006         ret

`+rule+`
-- `+dir+`/a.c:g
`+rule+`
No instructions recorded under this name.

`, out)
}

func TestAsmErrors(t *testing.T) {
	profile := asmFiles(t, "")
	_, errs, status := annotateTo("--asm", profile)
	require.Contains(t, errs, profile+".insns: no such file or directory (cgemu --dump-instr=yes writes it)")
	require.Equal(t, 1, status)

	profile = asmFiles(t, "zz\n")
	_, errs, status = annotateTo("--asm", profile)
	require.Contains(t, errs, profile+".insns:6: 1 fields of an instruction, 6 expected")
	require.Equal(t, 1, status)

	_, errs, status = annotateTo("--asm", "--diff", profile, profile)
	require.Contains(t, errs, "argument --asm: needs one profile")
	require.Equal(t, 2, status)

	_, errs, status = annotateTo("--syntax=gnu", profile)
	require.Contains(t, errs, "argument --syntax: needs --asm")
	require.Equal(t, 2, status)
}

// TestAsmSyntax renders bytes in other syntaxes. What golang.org/x/arch gets wrong on its own is mended; what it does not
// know keeps the text of the profile.
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
