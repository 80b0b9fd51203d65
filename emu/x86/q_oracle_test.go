//go:build oracles

package x86

import (
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestQ(t *testing.T) {
	b, _ := os.ReadFile("/tmp/q.txt")
	var jobs []job
	var names []string
	for _, l := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		c, err := hex.DecodeString(strings.ReplaceAll(l, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		jobs = append(jobs, newJob(c, 1))
		names = append(names, l)
	}
	for i, r := range runNative(t, jobs) {
		var in Inst
		err := Decode(append(jobs[i].Code[:], 0xcc), &in)
		fmt.Println(names[i], "sig", r.Sig, "ip", r.IP, "flags", fmt.Sprintf("%x->%x", jobs[i].Flags, r.Flags), r.Regs[0] == jobs[i].Regs[0], r.Regs[8] == jobs[i].Regs[8], "ours", in.Op, in.Len, err)
	}
}
