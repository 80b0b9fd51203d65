//go:build oracles

package x86

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A line is one instruction as objdump shows it.
type line struct {
	addr uint64
	code []byte
	text string // mnemonic and operands, Intel syntax
	note string // what follows the #
}

// objdump runs objdump and hands each line of code to yield. Near branches are
// Intel's: 66 does not make them 16 bits wide.
func objdump(t testing.TB, yield func(line), args ...string) {
	t.Helper()
	cmd := exec.Command("objdump", append([]string{"-w", "--insn-width=16", "-M", "intel,intel64"}, args...)...)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start(), "objdump is the oracle of these tests: install binutils")
	s := bufio.NewScanner(out)
	s.Buffer(make([]byte, 1<<20), 1<<20)
	for s.Scan() {
		col := strings.SplitN(s.Text(), "\t", 3)
		if len(col) < 3 {
			continue
		}
		addr, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(col[0]), ":"), 16, 64)
		if err != nil {
			continue
		}
		code, err := hex.DecodeString(strings.ReplaceAll(strings.TrimSpace(col[1]), " ", ""))
		if err != nil {
			continue
		}
		l := line{addr: addr, code: code}
		l.text, l.note, _ = strings.Cut(col[2], "#")
		l.text = strings.TrimSpace(l.text)
		yield(l)
	}
	require.NoError(t, s.Err())
	require.NoError(t, cmd.Wait())
}

// A tally counts differences by kind and keeps a few of each.
type tally struct {
	total   int
	byKind  map[string]int
	samples map[string][]string
}

func newTally() *tally { return &tally{byKind: map[string]int{}, samples: map[string][]string{}} }

func (c *tally) add(kind string, l line, inst *Inst, err error) {
	c.byKind[kind]++
	if len(c.samples[kind]) < 5 {
		c.samples[kind] = append(c.samples[kind], fmt.Sprintf("% x: %s; ours: %s len %d %v", l.code, l.text, inst.Op, inst.Len, err))
	}
}

// report fails the test on every kind of difference.
func (c *tally) report(t testing.TB) {
	t.Helper()
	t.Logf("%d instructions compared", c.total)
	for kind, n := range c.byKind {
		t.Errorf("%d × %s:\n  %s", n, kind, strings.Join(c.samples[kind], "\n  "))
	}
}

// compare decodes l and counts how it differs from objdump. code is l.code and
// what follows it.
func (c *tally) compare(l line, code []byte) {
	c.total++
	var inst Inst
	err := Decode(code, &inst)
	if kind := difference(l, &inst, err); kind != "" && accepted(kind, l, &inst, err) == "" {
		if strings.HasPrefix(kind, "only") {
			mnem, _ := splitText(l.text)
			kind += " " + mnem + inst.Op.String()
		}
		c.add(kind, l, &inst, err)
	}
}

// difference names what is different, or returns "".
func difference(l line, inst *Inst, err error) string {
	mnem, operands := splitText(l.text)
	bad := strings.Contains(l.text, "(bad)") || strings.Contains(l.text, "{bad}") || strings.Contains(l.text, "-bad}") || mnem == ""
	switch {
	case bad && err != nil:
		return ""
	case bad:
		return "only we decode"
	case err != nil:
		return "only objdump decodes"
	case int(inst.Len) != len(l.code):
		return "length"
	}
	if !sameMnemonic(mnem, inst) {
		return "mnemonic " + mnem + " " + inst.Op.String()
	}
	if kind := differentTarget(l, inst, operands); kind != "" {
		return kind
	}
	return differentOperands(mnem, operands, inst)
}

// splitText separates the mnemonic from operands, and drops prefixes shown in
// front of it.
func splitText(text string) (mnem string, operands []string) {
	for {
		word, rest, _ := strings.Cut(text, " ")
		if !shownPrefixes[word] && !strings.HasPrefix(word, "rex") && !strings.HasPrefix(word, "{") {
			mnem, text = word, strings.TrimSpace(rest)
			break
		}
		if rest == "" {
			return "", nil
		}
		text = strings.TrimSpace(rest)
	}
	depth, start := 0, 0
	for i, r := range text {
		switch r {
		case '[', '(':
			depth++
		case ']', ')':
			depth--
		case ',':
			if depth == 0 {
				operands = append(operands, text[start:i])
				start = i + 1
			}
		}
	}
	if last := text[start:]; last != "" && last[0] != '{' { // not {rn-sae}
		operands = append(operands, last)
	}
	return mnem, operands
}

var shownPrefixes = map[string]bool{
	"rep": true, "repz": true, "repnz": true, "lock": true, "data16": true, "addr32": true, "cs": true, "ds": true, "es": true,
	"ss": true, "fs": true, "gs": true, "bnd": true, "notrack": true, "xacquire": true, "xrelease": true,
}

// differentTarget compares branch targets and RIP-relative addresses.
func differentTarget(l line, inst *Inst, operands []string) string {
	next := l.addr + uint64(inst.Len)
	switch inst.Flow {
	case FlowJcc, FlowLoop, FlowJmp, FlowCall, FlowXbegin:
		word, _, _ := strings.Cut(operands[0], " ")
		want, err := strconv.ParseUint(strings.TrimPrefix(strings.TrimSuffix(word, ",pt"), "0x"), 16, 64)
		if got := next + uint64(inst.Target); err != nil || got != want {
			return "branch target"
		}
	}
	if inst.HasMem && inst.Mem.RIPRel && inst.Mem.AddrSize == 8 && l.note != "" {
		word, _, _ := strings.Cut(strings.TrimSpace(l.note), " ")
		want, err := strconv.ParseUint(strings.TrimPrefix(word, "0x"), 16, 64)
		if got := next + uint64(inst.Mem.Disp); err != nil || got != want {
			return "RIP-relative address"
		}
	}
	return ""
}
