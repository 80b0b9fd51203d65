//go:build linux && amd64

package jit

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu/x86"
)

var update = flag.Bool("update", false, "rewrite testdata/asm.txt from what the assembler emits and what objdump makes of it")

const asmGolden = "testdata/asm.txt"

// An encoding is a method of the assembler and, for each of its operands, the values to try it with.
type encoding struct {
	method   any // a method expression, or a function that has the assembler as its first parameter
	operands [][]any
}

func emits(method any, operands ...[]any) encoding { return encoding{method, operands} }

// values makes a list of operands of values of one type.
func values[T any](list ...T) (operands []any) {
	for _, v := range list {
		operands = append(operands, v)
	}
	return operands
}

// The operands that make a difference: registers with and without REX bits; bases that need a SIB byte (RSP, R12) or
// cannot go without a displacement (RBP, R13); the smallest and the largest number of each width.
var (
	regs    = values(x86.RAX, x86.RDI, x86.R8, x86.R15)
	pair    = values(x86.RDI, x86.R8)
	bases   = values(x86.RAX, x86.RSP, x86.RBP, x86.RDI, x86.R8, x86.R12, x86.R13, x86.R15)
	indices = values(x86.RAX, x86.RBP, x86.R12, x86.R15)
	maybe   = append(values(x86.NoReg), indices...)
	scales  = values[uint8](1, 2, 4, 8)
	disps   = values[int32](0, 8, 64, 127, -128, 128, -129, 2032, -2048, 8128, -8256, math.MinInt32)
	near    = values[int32](0, 8, -128, 128, math.MinInt32)
	imms    = values[int32](0, 127, -128, 128, -129, math.MaxInt32, math.MinInt32)
	someImm = values[int32](1, -0x12345678)
	abs     = values[int32](0, 0x12345678)
	counts  = values[int16](1, -1, math.MaxInt16)
	small   = values[byte](1, 0x80)
	shifts  = values[byte](1, 63)
	offsets = values(stRIP, codeOff, lowOff+0x40)
	targets = values(emitAt, emitAt+0x1000)
	conds   = values[byte](condB, condE, condNE, condBE, condA)
	alu     = values[byte](aluADD, aluOR, aluAND, aluSUB, aluXOR, aluCMP)
	both    = values(false, true)
	masks   = values[opmask](1, 2)
	vecs    = values(vec(0), vec(7), vecBudget, vecTotal)
	mms     = values(mmx(0), mmScratch)
	mmOps   = values[byte](opMOVQLoad, opMOVQStore, opPADDQ)
	sseOps  = values[byte](opMOVUPSLoad, opMOVUPSStore, opPADDQ)
	singles = values(opVPADDD, opVPORD.masked(1), opVMULPS.rounded(roundNearest), opVFMSUB213PS.rounded(roundNearest),
		opVFMADD231PS.rounded(roundToZero), opVFNMADD231PS.rounded(roundNearest))
)

// encodings has every method that emits whole instructions.
var encodings = []encoding{
	emits((*assembler).load, regs, offsets),
	emits((*assembler).store, offsets, regs),
	emits((*assembler).storeImm32, offsets, values[uint32](1, 0x87654321)),
	emits((*assembler).leaRIP, regs, offsets),
	emits((*assembler).incMem, offsets),
	emits((*assembler).addMem, offsets, counts),
	emits((*assembler).addMemBy, offsets, counts, regs),

	emits((*assembler).movRR, bases, bases),
	emits((*assembler).movRR32, bases, bases),
	emits((*assembler).movImm, bases, values[uint64](0, 1<<31, 1<<32-1, 1<<32, 1<<63-1, 1<<63, 1<<64-1, 1<<64-1<<31, 1<<64-1<<31-1)),
	emits((*assembler).testRR32, bases),
	emits((*assembler).not, bases),
	emits((*assembler).pushReg, bases),
	emits((*assembler).popReg, bases),
	emits((*assembler).pushImm, imms),
	emits((*assembler).shiftLeft, bases, shifts),
	emits((*assembler).shiftLeft, values(x86.RAX), values[byte](0)),
	emits((*assembler).shiftRight, bases, shifts),
	emits((*assembler).aluRR, alu, regs, regs),
	emits((*assembler).aluImm, alu, regs, imms),
	emits((*assembler).aluImm32, alu, regs, imms),

	emits((*assembler).lea, regs, bases, disps),
	emits((*assembler).leaIndex, pair, bases, indices, scales, values[int8](0, -128)),
	emits((*assembler).leaFull, pair, maybe, maybe, scales, values[int32](-0x12345678), both),
	emits((*assembler).leaFull, values(x86.RDI), bases, values(x86.NoReg), values[uint8](1), disps, both),
	emits((*assembler).loadGuest, regs, bases, disps),
	emits((*assembler).loadGuestPart, values(x86.RCX, x86.RDI), values(x86.RDX, x86.RBP), disps, values(1, 2, 4)),
	emits((*assembler).lea32, values(x86.RCX, x86.RDI), values(x86.RCX, x86.RBP), disps),
	emits((*assembler).storeGuest, bases, disps, regs),
	emits((*assembler).storeGuestImm, bases, disps, someImm),
	emits((*assembler).loadAt, regs, bases, disps),
	emits((*assembler).storeAt, bases, disps, regs),
	emits((*assembler).incAt, bases, disps),
	emits((*assembler).loadSmall, regs, bases, disps, values(1, 2)),
	emits((*assembler).storeSmall, bases, disps, values(x86.RAX, x86.RCX), values(1, 2)),
	emits((*assembler).imul, pair, pair),
	emits((*assembler).cmpZeroAt, bases, maybe, near),
	emits((*assembler).storeWordAt, bases, maybe, near, pair),
	emits((*assembler).addSlot, regs, offsets),
	emits((*assembler).countCarry, offsets, values(false, true)),
	emits((*assembler).testLow, regs, small),
	emits((*assembler).addAt, bases, disps, regs),
	emits((*assembler).aluAt, alu, regs, bases, disps),
	emits((*assembler).mm, mmOps, mms, offsets),
	emits((*assembler).mmIndex, values[byte](opMOVQStore), values[mmx](0, 7), bases, maybe, near),
	emits((*assembler).mmAt, mmOps, mms, bases, disps),
	emits((*assembler).mmReg, values[byte](opMOVQLoad, opPADDQ), mms, mms),
	emits((*assembler).sse, sseOps, offsets),
	emits((*assembler).sseAt, sseOps, bases, disps),
	emits((*assembler).movqTo, mms, bases),
	emits((*assembler).movqFrom, bases, mms),
	emits((*assembler).psrlq, mms, shifts),
	emits((*assembler).vpaddq, vecs, vecs, offsets),
	emits((*assembler).vpaddqAt, vecs, vecs, bases, disps),
	emits((*assembler).vpaddqVector, vecs, vecs, vecs),
	emits((*assembler).vpsubqVector, vecs, vecs, vecs),
	emits((*assembler).vpaddqWide, vecs, vecs, offsets),
	emits((*assembler).vpaddqWideAt, vecs, vecs, bases, disps),
	emits((*assembler).vpaddqWideVector, vecs, vecs, vecs),
	emits((*assembler).vloadWide, vecs, offsets),
	emits((*assembler).vstoreWide, offsets, vecs),
	emits((*assembler).vstoreWideAt, bases, disps, vecs),
	emits((*assembler).vpmovsxwq, vecs, offsets),
	emits((*assembler).vpbroadcastq, vecs, bases),
	emits((*assembler).kmovFrom, bases, masks),
	emits((*assembler).kadd, masks, masks, masks),
	emits((*assembler).kor, masks, masks, masks),
	emits((*assembler).kload, masks, offsets),
	emits((*assembler).kstore, offsets, masks),
	emits((*assembler).vpmovsxdq, vecs, regs),
	emits((*assembler).vmovdqu64, vecs, regs),
	emits((*assembler).vpsllq, vecs, values[byte](0, 3)),
	emits((*assembler).vpmovq2m, masks, vecs),
	emits((*assembler).vpmovq2mLow, masks, vecs),
	emits((*assembler).vpblendmq, vecs, masks, vecs, vecs),
	emits((*assembler).single, singles, vecs, vecs, vecs),
	emits((*assembler).singleOf, values(opVPANDD, opVPORD.masked(3), opVPADDD), vecs, vecs, offsets),
	emits((*assembler).singleFrom, values(opVRCP14PS, opVRSQRT14PS, opVBROADCASTSS), vecs, vecs),
	emits((*assembler).vbroadcastss, vecs, values[opmask](0, 2), offsets),
	emits((*assembler).vmovdqu32, regs, values[opmask](0, 1, 7), vecs, values[byte](length128, length256)),
	emits((*assembler).repeat, vecs, values[byte](0, 0x44)),
	emits((*assembler).vpsrad, vecs, vecs, values[byte](31)),
	emits((*assembler).vpcmpud, masks, vecs, offsets, values[byte](compareBelow, compareAtLeast, compareAbove)),
	emits((*assembler).vectorAt, values(vexMOVDQULd, vexMOVDQUSt, vexMOVDQULd256, vexPOR256, vexEXTRACTF128), values(0, 7, 8, 15), values(0), values(0, 0x340)),
	emits((*assembler).vectorAt, values(vexPOR256, vexINSERTF128), values(0, 7, 8, 15), values(7, 15), values(0x340)),
	emits((*assembler).vload, vecs, offsets),
	emits((*assembler).vstore, offsets, vecs),
	emits((*assembler).vstoreAt, bases, disps, vecs),
	emits((*assembler).vloadLow, vecs, offsets),
	emits((*assembler).vloadLowAt, vecs, bases, disps),
	emits((*assembler).vstoreLowAt, bases, maybe, near, values[vec](0, 15)),
	emits((*assembler).vstoreLow, offsets, vecs),
	emits((*assembler).vpaddqBroadcast, vecs, vecs, offsets),
	emits((*assembler).vmovqTo, vecs, bases),
	emits((*assembler).vmovqFrom, bases, vecs),
	emits((*assembler).min, regs, regs),
	emits((*assembler).lowByte, regs),
	emits((*assembler).aluAbs, alu, regs, maybe, scales, abs),
	emits((*assembler).cmpAbsImm, abs, someImm),
	emits((*assembler).cmpByteImm, indices, abs, small),
	emits((*assembler).stepByte, indices, abs, both),

	emits((*assembler).jmp, targets),
	emits((*assembler).jcc, conds, targets),
	emits((*assembler).call, targets),
	emits((*assembler).short, values[byte](opJRCXZ, opShortJ)),
	emits(link, targets),
	emits(patchShort, values[byte](opJRCXZ, opShortJ)),

	emits((*assembler).emitOffDistantShadow, regs),
	emits((*assembler).saveFlags),
	emits((*assembler).restoreFlags),
}

// link emits a jump and then makes it reach another target.
func link(e *assembler, to int) { e.link(e.jmp(0), to) }

// patchShort emits a short jump over another instruction.
func patchShort(e *assembler, op byte) {
	at := e.short(op)
	e.not(x86.RAX)
	e.patchShort(at)
}

// partial has the methods that emit no whole instruction; those that do are their test.
var partial = map[string]string{
	"byte": "bytes of an instruction", "u32": "its immediate or displacement", "u64": "its immediate", "put32": "link's store",
	"rip": "ModRM byte and displacement", "memRM": "ModRM byte and displacement", "sib": "ModRM byte and displacement",
	"immediate": "opcode and immediate", "swap": "emits nothing", "memScaled": "ModRM byte and displacement", "evex": "prefix and opcode", "rex32": "a prefix", "memIndex": "ModRM and displacement", "signs": "vpmovq2m, vpmovq2mLow", "align": "INT3", "padSite": "NOP", "shortBack": "short, back", "sseOpcode": "prefixes and opcode", "emitFor": "emits nothing",
	"emitLoadState": "many", "emitTakeFlags": "many", "emitGiveFlags": "many", "emitSaveState": "many", "ifX87": "many", "saveX87": "many", "restoreX87": "many", "jumpX87": "many", "emitClearX87": "many",
}

// emitAt is the arena offset at which every instruction is emitted, testLowBase where the low part of the arena is said
// to be.
const (
	emitAt      = 0x1000
	testLowBase = 0x40000000
)

// An emitted is a call of the assembler's and what came of it.
type emitted struct {
	call, code, text string
}

// emitAll makes all calls of encodings.
func emitAll() (list []emitted) {
	for _, enc := range encodings {
		for _, operands := range product(enc.operands) {
			e := assembler{mem: make([]byte, emitAt+32), pos: emitAt, lowBase: testLowBase}
			call, in := methodName(enc.method), []reflect.Value{reflect.ValueOf(&e)}
			for i, o := range operands {
				call += ","[:min(i, 1)] + " " + operandName(o)
				in = append(in, reflect.ValueOf(o))
			}
			reflect.ValueOf(enc.method).Call(in)
			list = append(list, emitted{call: call, code: fmt.Sprintf("% x", e.mem[emitAt:e.pos])})
		}
	}
	return list
}

// product returns all combinations of one value from each list.
func product(lists [][]any) (all [][]any) {
	all = [][]any{nil}
	for _, list := range lists {
		var longer [][]any
		for _, front := range all {
			for _, v := range list {
				longer = append(longer, append(front[:len(front):len(front)], v))
			}
		}
		all = longer
	}
	return all
}

func methodName(method any) string {
	name := runtime.FuncForPC(reflect.ValueOf(method).Pointer()).Name()
	return name[strings.LastIndex(name, ".")+1:]
}

func operandName(o any) string {
	switch o := o.(type) {
	case x86.Reg:
		if o == x86.NoReg {
			return "none"
		}
		return strings.Fields("rax rcx rdx rbx rsp rbp rsi rdi r8 r9 r10 r11 r12 r13 r14 r15")[o]
	case bool:
		return strconv.FormatBool(o)
	}
	return fmt.Sprintf("%#x", o)
}

// TestAssembler compares what the assembler emits with the golden file, and what that is with objdump.
func TestAssembler(t *testing.T) {
	list := emitAll()
	golden := readGolden(t)
	switch {
	case *update || oracles:
		disassemble(t, list)
	default:
		require.Equal(t, len(list), len(golden), "go test ./emu/jit -run TestAssembler -update makes the file anew")
		for i := range list {
			list[i].text = golden[i].text
		}
	}
	if *update {
		writeGolden(t, list)
		return
	}
	require.Equal(t, golden, list)
}

func writeGolden(t *testing.T, list []emitted) {
	var b strings.Builder
	for _, e := range list {
		fmt.Fprintf(&b, "%s | %s | %s\n", e.call, e.code, e.text)
	}
	require.NoError(t, os.MkdirAll(filepath.Dir(asmGolden), 0o755))
	require.NoError(t, os.WriteFile(asmGolden, []byte(b.String()), 0o644))
}

func readGolden(t *testing.T) (list []emitted) {
	b, err := os.ReadFile(asmGolden)
	if !*update {
		require.NoError(t, err)
	}
	for line := range strings.Lines(string(b)) {
		col := strings.SplitN(strings.TrimSuffix(line, "\n"), " | ", 3)
		require.Len(t, col, 3, line)
		list = append(list, emitted{col[0], col[1], col[2]})
	}
	return list
}

// slot is the distance of instructions in the file that objdump reads; NOPs fill it.
const slot = 32

// disassemble sets the texts in list to what objdump says, instructions separated by semicolons.
func disassemble(t *testing.T, list []emitted) {
	var image []byte
	for _, e := range list {
		code := assemble(t, e.code)
		image = append(image, code...)
		for range slot - len(code) {
			image = append(image, 0x90)
		}
	}
	file := filepath.Join(t.TempDir(), "code")
	require.NoError(t, os.WriteFile(file, image, 0o600))
	out, err := exec.Command("objdump", "-D", "-z", "-w", "-M", "intel", "-b", "binary", "-m", "i386:x86-64", file).Output()
	require.NoError(t, err, "objdump is the oracle of this test: install binutils")
	for line := range strings.Lines(string(out)) {
		col := strings.Split(strings.TrimSpace(line), "\t")
		at, err := strconv.ParseUint(strings.TrimSuffix(col[0], ":"), 16, 64)
		if err != nil || len(col) != 3 {
			continue
		}
		e := &list[at/slot]
		if int(at%slot) >= len(assemble(t, e.code)) {
			continue
		}
		if e.text != "" {
			e.text += "; "
		}
		e.text += where(t, col[2], at-at%slot)
	}
}

// where returns an instruction in the slot at start as if it were at emitAt: with branch targets that
// belong there, and without objdump's notes of RIP-relative addresses.
func where(t *testing.T, text string, start uint64) string {
	text, _, _ = strings.Cut(text, "#")
	op, operand, _ := strings.Cut(strings.TrimSpace(text), " ")
	operand = strings.TrimSpace(operand)
	if op == "call" || op[0] == 'j' {
		to, err := strconv.ParseUint(operand, 0, 64)
		require.NoError(t, err, text)
		operand = fmt.Sprintf("%#x", to-start+emitAt)
	}
	return strings.TrimSpace(op + " " + operand)
}

// TestAssemblerComplete holds encodings against the methods that the assembler has.
func TestAssemblerComplete(t *testing.T) {
	tested := map[string]bool{}
	for _, enc := range encodings {
		tested[methodName(enc.method)] = true
	}
	methods := assemblerMethods(t)
	require.Greater(t, len(methods), 50)
	for name := range methods {
		require.NotEqual(t, tested[name], partial[name] != "", "%s belongs either in encodings or in partial", name)
	}
	for name := range partial {
		require.True(t, methods[name], "%s is no method of the assembler any more", name)
	}
}

// assemblerMethods returns the names of the methods of *assembler in this package's sources.
func assemblerMethods(t *testing.T) map[string]bool {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	methods := map[string]bool{}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv == nil {
				continue
			}
			if star, ok := fn.Recv.List[0].Type.(*ast.StarExpr); ok {
				if receiver, ok := star.X.(*ast.Ident); ok && receiver.Name == "assembler" {
					methods[fn.Name.Name] = true
				}
			}
		}
	}
	return methods
}
