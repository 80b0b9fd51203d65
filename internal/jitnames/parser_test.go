package jitnames

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// parse returns what a file names, written in pieces of a size, and what was wrong.
func parse(t testing.TB, name string, data []byte, piece int) (list []Function, wrong []string) {
	p, pid := NewParser(name, func(f Function) { list = append(list, f) }, func(err error) { wrong = append(wrong, err.Error()) })
	require.NotNil(t, p)
	require.NotZero(t, pid)
	for b := range slices.Chunk(data, piece) {
		p.Write(b)
		require.LessOrEqual(t, len(p.rest), 1<<16)
	}
	return list, wrong
}

func TestParserNames(t *testing.T) {
	for name, want := range map[string]int{
		"/tmp/perf-1000.map": 1000, "perf-7.map": 7, "/root/.debug/jit/x/jit-12.dump": 12, "jit-1.dump": 1,
		"/tmp/perf-1000.map.1": 0, "perf-.map": 0, "perf-0.map": 0, "perf-+1.map": 0, "perf-01.map": 0, "jit-1.map": 0, "perf-1.dump": 0, "perf-1": 0, "": 0, "map": 0,
	} {
		p, pid := NewParser(name, nil, nil)
		require.Equal(t, want, pid, name)
		require.Equal(t, want != 0, p != nil, name)
	}
}

func TestPerfMap(t *testing.T) {
	const text = "1000 20 fib\n0x2000 0x10 LazyCompile:~f a b.js:1:2\nx y z\n3000 8 with\ttab\xff\n4000 8\nffffffffffffffff 2 wraps\n5000 8 last"
	for _, piece := range []int{1, 3, 1000} {
		list, wrong := parse(t, "/tmp/perf-1.map", []byte(text), piece)
		require.Equal(t, []Function{{0x1000, 0x1020, "fib"}, {0x2000, 0x2010, "LazyCompile:~f a b.js:1:2"}, {0x3000, 0x3008, "with?tab?"}}, list)
		require.Equal(t, []string{"perf-1.map: line 3 is not START SIZE NAME, the first two in hexadecimal: functions named there may be missing"}, wrong)
	}
	long := "1000 20 " + strings.Repeat("x", 1<<20) + "\n3000 8 g\n"
	list, wrong := parse(t, "perf-1.map", []byte(long), 1000)
	require.Equal(t, []Function{{0x3000, 0x3008, "g"}}, list)
	require.Len(t, wrong, 1)
}

// record makes a record of a jitdump file: its kind, process and thread, and numbers.
func record(kind uint32, tail string, numbers ...uint64) []byte {
	le := binary.LittleEndian
	b := le.AppendUint32(nil, kind)
	b = le.AppendUint32(b, uint32(16+8*len(numbers)+len(tail)))
	b = le.AppendUint64(b, 12345)
	for _, n := range numbers {
		b = le.AppendUint64(b, n)
	}
	return append(b, tail...)
}

func dumpFile(records ...[]byte) []byte {
	le := binary.LittleEndian
	b := le.AppendUint32(nil, dumpMagic)
	for _, n := range []uint32{1, 48, 62, 0, 1000} {
		b = le.AppendUint32(b, n)
	}
	return append(append(b, make([]byte, 48-24)...), slices.Concat(records...)...)
}

func TestJitDump(t *testing.T) {
	const ids = 1000<<32 | 1000
	data := dumpFile(
		record(2, strings.Repeat("d", 10000), 0x1000, 5),
		record(recordLoad, "fib\x00"+strings.Repeat("c", 32), ids, 0x1000, 0x1000, 0x20, 0),
		record(recordLoad, strings.Repeat("n", maxName+9)+"\x00"+strings.Repeat("c", 16), ids, 0x2000, 0x2000, 0x10, 1),
		record(4, "", 1, 2, 3),
		record(recordMove, "", ids, 0x1000, 0x1000, 0x5000, 0x20, 0),
		record(recordMove, "", ids, 0x1000, 0x1000, 0x6000, 0x20, 99),
		record(3, ""),
		record(recordLoad, "g\x00c", ids, 0x3000, 0x3000, 1, 2),
	)
	for _, piece := range []int{1, 7, 100, 1 << 20} {
		list, wrong := parse(t, "jit-1000.dump", data, piece)
		require.Equal(t, []Function{{0x1000, 0x1020, "fib"}, {0x2000, 0x2010, strings.Repeat("n", maxName)}, {0x5000, 0x5020, "fib"}, {0x3000, 0x3001, "g"}}, list, "pieces of %d", piece)
		require.Empty(t, wrong)
	}
	for want, data := range map[string][]byte{
		"a record has 8 bytes, less than its header":                          dumpFile([]byte{0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}),
		"it does not begin as a jitdump file of a little-endian machine does": make([]byte, 40),
		"a record of kind 1 has only 24 bytes":                                dumpFile(record(recordMove, "", 1)),
		"a record of kind 0 has only 56 bytes":                                dumpFile(record(recordLoad, "", 1, 2, 3, 4, 5)),
		"a function has no name, or a size that cannot be":                    dumpFile(record(recordLoad, "\x00", 1, 2, 3, 4, 5)),
	} {
		list, wrong := parse(t, "jit-1.dump", append(data, record(0, "\x00")...), 5)
		require.Empty(t, list)
		require.Equal(t, []string{"jit-1.dump: " + want + ": functions named there may be missing"}, wrong)
	}
}

// fuzzParser writes data in two ways, which have to give the same.
func fuzzParser(t *testing.T, name string, data []byte, piece uint8) {
	list, wrong := parse(t, name, data, int(piece)+1)
	list2, wrong2 := parse(t, name, data, 1<<20)
	require.Equal(t, list2, list)
	require.Equal(t, wrong2, wrong)
	var n Names
	for _, f := range list {
		require.LessOrEqual(t, f.Lo, f.Hi)
		require.NotContains(t, f.Name, "\n")
		if n.Add(f) && f.Hi > f.Lo && f.Name != "" {
			require.Equal(t, f.Name, at(&n, f.Lo), fmt.Sprint(f))
		}
	}
}

func FuzzPerfMap(f *testing.F) {
	f.Add([]byte("1000 20 fib\n0x2000 0x10 a b\nx\n"), uint8(3))
	f.Fuzz(func(t *testing.T, data []byte, piece uint8) { fuzzParser(t, "perf-1.map", data, piece) })
}

func FuzzJitDump(f *testing.F) {
	f.Add(dumpFile(record(recordLoad, "fib\x00c", 1, 2, 3, 4, 5), record(recordMove, "", 1, 2, 3, 4, 5, 5)), uint8(3))
	f.Fuzz(func(t *testing.T, data []byte, piece uint8) { fuzzParser(t, "jit-1.dump", data, piece) })
}
