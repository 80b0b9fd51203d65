//go:build linux && amd64

package cgemu_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// compile runs a compiler that writes a program to the file behind its argument -o. A compiler that is
// missing is a failure with the tag oracles.
func compile(t *testing.T, args ...string) (program string) {
	t.Helper()
	_, err := exec.LookPath(args[0])
	if err == nil && args[0] == "rustc" { // rustup's may have no compiler to start
		err = exec.Command(args[0], "--version").Run()
	}
	if err != nil {
		if oracles {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	program = filepath.Join(t.TempDir(), "program")
	args = slices.Insert(slices.Clone(args), slices.Index(args, "-o")+1, program)
	out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

// native runs a program on the host and returns what it prints.
func native(t *testing.T, program string) string {
	t.Helper()
	out, err := exec.Command(program).Output()
	require.NoError(t, err)
	return string(out)
}

// needFile skips a test without a file that a package of the distribution has.
func needFile(t *testing.T, name string) {
	t.Helper()
	if _, err := os.Stat(name); err != nil {
		if oracles {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

// requests are assembly macros: REQ makes a client request, in three instructions of which the last
// is the request itself; N executes as many instructions as it says; EXIT ends the program in three.
const requests = `
	.macro N n
	.rept \n
	nop
	.endr
	.endm
	.macro REQ code, arg=0
	.pushsection .data
	.balign 64
words\@: .quad \code, \arg, 0, 0, 0, 0
	.popsection
	lea words\@(%rip), %rax
	mov $77, %edx
	rolq $3, %rdi
	rolq $13, %rdi
	rolq $61, %rdi
	rolq $51, %rdi
	xchgq %rbx, %rbx
	.endm
	.macro EXIT status=$0
	mov \status, %edi
	mov $60, %eax
	syscall
	.endm
	.macro FN name
	.globl \name
	.type \name, @function
\name:
	.endm
	CG_START = 0x43470000
	CG_STOP = 0x43470001
	CT_DUMP = 0x43540000
	CT_ZERO = 0x43540001
	CT_TOGGLE = 0x43540002
	CT_DUMP_AT = 0x43540003
	CT_START = 0x43540004
	CT_STOP = 0x43540005
	CE_START = 0x43450000
	CE_STOP = 0x43450001
	CE_ZERO = 0x43450002
	CE_DUMP = 0x43450003
	CE_DUMP_AT = 0x43450004
	CE_TOGGLE = 0x43450005
	CE_RUNNING = 0x43450006
	.text
`

// assemble makes a program of what follows _start and, behind it, of functions.
func assemble(t *testing.T, start string) (program string) {
	t.Helper()
	source := filepath.Join(t.TempDir(), "source.S")
	text := requests + "\tFN _start\n" + start + "\n\t.section .note.GNU-stack,\"\",@progbits\n"
	require.NoError(t, os.WriteFile(source, []byte(text), 0o644))
	return compile(t, "gcc", "-nostdlib", "-static", "-g", source, "-o")
}
