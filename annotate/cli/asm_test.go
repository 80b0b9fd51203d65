package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
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
		text := "insns: 2\ncounts: Ir Dr\nob=/bin/a\nfl=" + source + "\nfn=f\n" + insns
		require.NoError(t, os.WriteFile(profile+cgout.InsnsSuffix, []byte(text), 0o600))
	}
	return profile
}

// rule is a line of a heading.
var rule = strings.Repeat("-", 80)

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
