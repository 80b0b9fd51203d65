//go:build unix

package dwarfmap

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// BenchmarkOpen measures what a run pays for an object: opening it and looking
// up some thousand addresses in a few of its functions.
func BenchmarkOpen(b *testing.B) {
	goTool := filepath.Join(os.Getenv("GOROOT"), "bin/go")
	if os.Getenv("GOROOT") == "" {
		goTool = "/usr/local/go/bin/go"
	}
	for _, bb := range []struct{ name, pattern string }{
		{"libc", "/lib/x86_64-linux-gnu/libc.so.6"},
		{"ld.so", "/lib64/ld-linux-x86-64.so.2"},
		{"python3", "/usr/bin/python3"},
		{"cc1", "/usr/lib/gcc/x86_64-linux-gnu/*/cc1"},
		{"go", goTool},
		{"rust", os.ExpandEnv("$HOME/.cargo/bin/rustup")},
		{"self", os.Args[0]},
	} {
		files, err := filepath.Glob(bb.pattern)
		if err != nil || len(files) == 0 {
			continue
		}
		b.Run(bb.name, func(b *testing.B) {
			start := cpuTime()
			for b.Loop() {
				o, err := Open(files[0], Options{Demangle: true})
				if err != nil {
					b.Fatal(err)
				}
				for i := range uint64(5000) {
					// 50 places of 400 bytes each.
					at := o.text.lo + (o.text.hi-o.text.lo)/50*(i/100) + i%100*4
					o.Lookup(at)
				}
				if err := o.Err(); err != nil {
					b.Fatal(err)
				}
				o.Close()
			}
			b.ReportMetric(float64(cpuTime()-start)/1e6/float64(b.N), "cpu-ms/op")
		})
	}
}

// cpuTime returns the processor time that this process took so far.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkLookup measures the look-up alone, everything read.
func BenchmarkLookup(b *testing.B) {
	o, err := Open(os.Args[0], Options{Demangle: true})
	if err != nil {
		b.Fatal(err)
	}
	defer o.Close()
	at := o.text.lo
	for b.Loop() {
		o.Lookup(at)
		if at += 5; at >= o.text.hi {
			at = o.text.lo
		}
	}
}
