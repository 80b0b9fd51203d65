package x86

import (
	"debug/elf"
	"os"
	"testing"
)

// BenchmarkDecode decodes the code of the test binary itself.
func BenchmarkDecode(b *testing.B) {
	exe, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	for _, file := range []string{exe, "/lib/x86_64-linux-gnu/libc.so.6"} {
		name := "code=go"
		if file != exe {
			name = "code=libc"
		}
		b.Run(name, func(b *testing.B) { benchmarkDecode(b, file) })
	}
}

func benchmarkDecode(b *testing.B, file string) {
	f, err := elf.Open(file)
	if err != nil {
		b.Skip(err)
	}
	defer f.Close()
	code, err := f.Section(".text").Data()
	if err != nil {
		b.Fatal(err)
	}
	var inst Inst
	count := 0
	b.ReportAllocs()
	for b.Loop() {
		for pos := 0; pos < len(code); count++ {
			if Decode(code[pos:], &inst) != nil {
				pos++ // data among code
				continue
			}
			pos += int(inst.Len)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(count), "ns/instr")
}
