//go:build oracles

package x86

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A job is one instruction with the state to run it in.
type job struct {
	Code  [16]byte
	Regs  [16]uint64
	Flags uint64
}

// A result is how a job ended: the signal, RIP as an offset from the code, the
// state.
type result struct {
	Sig, IP uint64
	Regs    [16]uint64
	Flags   uint64
}

const resultSize = 19 * 8

func (j *job) bytes() []byte {
	b := append(make([]byte, 0, 19*8), j.Code[:]...)
	for _, v := range j.Regs {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return binary.LittleEndian.AppendUint64(b, j.Flags)
}

func (r *result) parse(b []byte) {
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	r.Sig, r.IP, r.Flags = word(0), word(1), word(18)
	for i := range r.Regs {
		r.Regs[i] = word(2 + i)
	}
}

// A host executes jobs on the host's CPU.
type host struct{ exe string }

// batch is how many jobs are executed at a time: all of a test's would take a gigabyte.
const batch = 1 << 15

// newHost compiles the program that does. It is position-independent, since the heap of another may lie at the
// addresses that it maps.
func newHost(t testing.TB) host {
	t.Helper()
	h := host{filepath.Join(t.TempDir(), "native")}
	out, err := exec.Command("gcc", "-O1", "-static-pie", "-fno-stack-protector", "-fcf-protection=none", "-o", h.exe,
		"testdata/native.c").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return h
}

// run executes jobs in order.
func (h host) run(t testing.TB, jobs []job) []result {
	t.Helper()
	cmd := exec.Command(h.exe)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	go func() {
		w := bufio.NewWriterSize(in, 1<<16)
		for i := range jobs {
			if _, err := w.Write(jobs[i].bytes()); err != nil {
				break
			}
		}
		w.Flush()
		in.Close()
	}()
	r := bufio.NewReaderSize(stdout, 1<<16)
	results := make([]result, len(jobs))
	for i := range results {
		var buf [resultSize]byte
		if _, err := io.ReadFull(r, buf[:]); err != nil {
			t.Fatalf("the host's child died at job %d, % x: %v", i, jobs[i].Code, cmd.Wait())
		}
		results[i].parse(buf[:])
	}
	_, err = io.ReadAll(r)
	require.NoError(t, err)
	require.NoError(t, cmd.Wait())
	return results
}

// newJob gives code a state: RBX, RSP, RBP, RSI and RDI point into memory.
func newJob(code []byte, seed uint64) job {
	var j job
	for i := range j.Code {
		j.Code[i] = 0xcc
	}
	copy(j.Code[:], code)
	for i := range j.Regs {
		seed = seed*6364136223846793005 + 1442695040888963407
		j.Regs[i] = seed ^ seed>>29
	}
	const middle = 0x20000000 + 1<<19
	for i, r := range []Reg{RBX, RSP, RBP, RSI, RDI} {
		j.Regs[r] = middle + uint64(i)*256
	}
	j.Regs[RCX] &= 3
	j.Flags = seed>>7&uint64(StatusFlags) | 0x202
	return j
}

const (
	sigILL  = uint64(syscall.SIGILL)
	sigTRAP = uint64(syscall.SIGTRAP)
)

// refusedHere are Ops not executed natively: they end or change the process,
// or this test's own machinery, or wait.
var refusedHere = map[Op]bool{
	SYSCALL: true, SYSENTER: true, INT: true, INT1: true, INT3: true, POPF: true, WRFSBASE: true, WRGSBASE: true, WRPKRU: true,
	XRSTOR: true, XRSTOR64: true, FXRSTOR: true, FXRSTOR64: true, LDMXCSR: true, VLDMXCSR: true, FLDENV: true, FRSTOR: true,
	FLDCW: true, LFS: true, LGS: true, LSS: true, UMWAIT: true, TPAUSE: true, MWAITX: true, RETF: true, IRET: true, CALLF: true, JMPF: true,
	XBEGIN: true, XEND: true, XABORT: true, XSUSLDTRK: true, XRESLDTRK: true, UIRET: true, SENDUIPI: true, LDTILECFG: true, ENCLU: true,
	LLDT: true, LTR: true,
}

// runnable reports whether inst may run natively and comes back by itself.
func runnable(inst *Inst) bool {
	if inst.Feature == FeatVMX || inst.Feature == FeatSVM || refusedHere[inst.Op] || inst.Flow != FlowNext || inst.Feature == FeatPRIVILEGED || inst.Mem.Seg == SegFS {
		return false
	}
	return inst.NArgs == 0 || inst.Args[0].Kind != ArgSeg
}

// hostFeatures are features every host these tests run on has; encodings of
// others are not executed.
var hostFeatures = map[Feature]bool{
	FeatBASE: true, FeatCMOV: true, FeatX87: true, FeatMMX: true, FeatSSE: true, FeatSSE2: true, FeatSSE3: true, FeatSSSE3: true,
	FeatSSE41: true, FeatSSE42: true, FeatPOPCNT: true, FeatLAHF: true, FeatCX16: true, FeatAVX: true, FeatAVX2: true, FeatBMI1: true,
	FeatBMI2: true, FeatFMA: true, FeatF16C: true, FeatLZCNT: true, FeatMOVBE: true, FeatXSAVE: true, FeatFXSR: true, FeatADX: true,
	FeatAES: true, FeatPCLMUL: true, FeatRDRAND: true, FeatRDSEED: true, FeatRDTSCP: true,
}

// avx512Features are those of AVX-512 by Linux's names; encodings are executed where the host has the feature.
var avx512Features = map[string]Feature{
	"avx512f": FeatAVX512F, "avx512bw": FeatAVX512BW, "avx512cd": FeatAVX512CD, "avx512dq": FeatAVX512DQ, "avx512ifma": FeatAVX512IFMA,
	"avx512vbmi": FeatAVX512VBMI, "avx512_vbmi2": FeatAVX512VBMI2, "avx512_vnni": FeatAVX512VNNI, "avx512_bitalg": FeatAVX512BITALG,
	"avx512_vpopcntdq": FeatAVX512VPOPCNTDQ, "avx512_bf16": FeatAVX512BF16, "gfni": FeatGFNI, "vaes": FeatVAES, "vpclmulqdq": FeatVPCLMUL,
}

// hostHas reports whether the host executes instructions of a feature.
func hostHas(f Feature) bool {
	if hostFeatures[f] {
		return true
	}
	text, _ := os.ReadFile("/proc/cpuinfo")
	_, flags, _ := bytes.Cut(text, []byte("flags"))
	flags, _, _ = bytes.Cut(flags, []byte("\n"))
	for name, feature := range avx512Features {
		if feature == f {
			return bytes.Contains(append(flags, ' '), []byte(" "+name+" "))
		}
	}
	return false
}

// hostIsAMD reports whether AMD made the host's CPU. The table has what Intel's CPUs do.
var hostIsAMD = sync.OnceValue(func() bool {
	text, _ := os.ReadFile("/proc/cpuinfo")
	return bytes.Contains(text, []byte("AuthenticAMD"))
})

// amdDiffers reports whether the host is an AMD CPU and code is an encoding that these alone take for undefined
// (prefetch, 0F 0D, of a register), or alone execute: LOCK VERW, LOCK MOV with CR0, which is CR8 to them, and VPERMQ
// and VPERMPD with W clear.
func amdDiffers(code []byte) bool {
	if !hostIsAMD() {
		return false
	}
	if code[0] == 0xc4 {
		return code[1]&0x1f == 3 && code[2]&0x87 == 5 && code[3] <= 1
	}
	at := bytes.IndexByte(code, 0x0f)
	if at < 0 || at+2 >= len(code) {
		return false
	}
	lock := bytes.IndexByte(code[:at], 0xf0) >= 0
	switch op, modrm := code[at+1], code[at+2]; op {
	case 0x0d:
		return modrm >= 0xc0
	case 0x00:
		return lock && modrm>>3&7 == 5
	case 0x20, 0x22:
		return lock && modrm>>3&7 == 0
	}
	return false
}

// amdIgnores reports whether the host is an AMD CPU and code has a bit set that Intel's CPUs take for undefined there:
// AMD's of family 25 execute it as if the bit were clear, those of family 26 do not. That are zeroing without a mask,
// broadcast or rounding of an instruction of registers that has none, and bits that would extend numbers of mask
// registers. RDPRU, which only AMD's CPUs have, ignores a prefix 66 as well: the manual has it without. So do RDPKRU and
// WRPKRU, where the host has protection keys, and F2.
func amdIgnores(code []byte) bool {
	prefixes := slices.IndexFunc(code, func(b byte) bool { return b != 0x66 && b != 0xf2 && b&0xf0 != 0x40 })
	switch {
	case !hostIsAMD():
		return false
	case prefixes > 0 && bytes.HasPrefix(code[prefixes:], []byte{0x0f, 0x01}):
		op := code[prefixes+2]
		return op == 0xee || op == 0xef || op == 0xfd && bytes.IndexByte(code[:prefixes], 0xf2) < 0
	case code[0] == 0x62:
		return code[3]&0x87 == 0x80 || code[3]&0x10 != 0 && code[5] >= 0xc0
	case code[0] == 0xc4 && code[1]&0x80 == 0 && code[4] >= 0xc0:
		switch op := code[3]; code[1] & 0x1f {
		case 1:
			return op >= 0x41 && op <= 0x4b || op >= 0x90 && op <= 0x99
		case 3:
			return op >= 0x30 && op <= 0x33
		}
	}
	return false
}

// TestNativeUndefined has the host CPU confirm, over all enumerated encodings but for part of those of EVEX,
// which are undefined, and how long the others are.
func TestNativeUndefined(t *testing.T) {
	h := newHost(t)
	var jobs []job
	executed := 0
	bad := map[string]int{}
	executes := map[Feature]bool{}
	for f := range featureNames {
		executes[Feature(f)] = hostHas(Feature(f))
	}
	execute := func() {
		for i, r := range h.run(t, jobs) {
			code := jobs[i].Code[:]
			if kind := undefinedError(code, r, executes); kind != "" && !amdDiffers(code) {
				if bad[kind]++; bad[kind] < 5 {
					t.Errorf("%s: % x", kind, code)
				}
			}
		}
		executed += len(jobs)
		jobs = jobs[:0]
	}
	seen := map[[16]byte]bool{}
	add := func(code ...byte) {
		j := newJob(code, uint64(len(seen)))
		var inst Inst
		switch err := Decode(j.Code[:], &inst); {
		case err == nil && runnable(&inst):
			j = newJob(j.Code[:inst.Len], uint64(len(seen)))
		case err != ErrUndefined:
			return
		}
		if !seen[j.Code] {
			seen[j.Code] = true
			if jobs = append(jobs, j); len(jobs) == batch {
				execute()
			}
		}
	}
	enumerateLegacy(add, nil)
	enumerateLegacy(add, []byte{0x0f})
	enumerateLegacy(add, []byte{0x0f, 0x38})
	enumerateLegacy(add, []byte{0x0f, 0x3a})
	enumerateModRM(add)
	enumeratePrefixes(add)
	enumerateVEX(add)
	n := 0
	enumerateEVEX(func(code ...byte) { // of which there are millions: two of seven
		if n++; n%7 < 2 {
			add(code...)
		}
	})
	execute()
	t.Logf("%d encodings executed", executed)
	for kind, n := range bad {
		t.Errorf("%d × %s", n, kind)
	}
}

// undefinedError says in what the host, which ended with r, disagrees with Decode about whether code is an instruction,
// and how long; "" if in nothing. SIGILL means undefined only where RIP is at the instruction: RDRAND RSP leaves no
// address in RSP, and under PVM an interrupt then ends the INT3 behind it in SIGILL, once in some 15,000 times.
func undefinedError(code []byte, r result, executes map[Feature]bool) string {
	var inst Inst
	err := Decode(code, &inst)
	switch {
	case err != nil && r.Sig != sigILL && !amdIgnores(code):
		return "the host executes what we call undefined"
	case err == nil && r.Sig == sigILL && r.IP == 0 && executes[inst.Feature] && (inst.Enc != EVEX || executes[FeatAVX512F]): // a CPU with VAES alone has no EVEX forms of it
		return "the host calls undefined: " + inst.Op.String()
	case err == nil && r.Sig == sigTRAP && r.IP != uint64(inst.Len)+1:
		return "length of " + inst.Op.String()
	}
	return ""
}
