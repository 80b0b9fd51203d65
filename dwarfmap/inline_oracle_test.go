//go:build oracles

package dwarfmap

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// inlinedFrames are the functions at an address, from the inside out, with the place where each is executed. Of the
// innermost one that is the line alone: its file is that of the line table, where Valgrind takes another one now and
// then.
func inlinedFrames(o *Object, addr uint64) (list []string) {
	loc := o.Lookup(addr)
	place := strconv.Itoa(loc.Line)
	for in := o.Inlined(addr); in != nil; in = in.Outer {
		list = append(list, in.Func+" "+place)
		place = fmt.Sprintf("%s:%d", path.Base(in.CallFile), in.CallLine)
	}
	return append(list, place)
}

// symbolizer asks llvm-symbolizer for the same.
func symbolizer(t *testing.T, prog string, addrs []uint64) (list [][]string) {
	t.Helper()
	var in strings.Builder
	for _, a := range addrs {
		fmt.Fprintf(&in, "%#x\n", a)
	}
	cmd := exec.Command("llvm-symbolizer", "--inlines", "--functions=linkage", "--no-demangle", "-e", prog)
	cmd.Stdin = strings.NewReader(in.String())
	var errb bytes.Buffer
	cmd.Stderr = &errb
	out, err := cmd.Output()
	require.NoError(t, err, errb.String())
	for answer := range strings.SplitSeq(strings.TrimSpace(string(out)), "\n\n") {
		lines := strings.Split(answer, "\n")
		var frames []string
		for i := 0; i+1 < len(lines); i += 2 {
			at := path.Base(lines[i+1])
			if at = at[:strings.LastIndexByte(at, ':')]; i == 0 {
				at = at[strings.LastIndexByte(at, ':')+1:]
			}
			if i+3 < len(lines) {
				at = lines[i] + " " + at
			}
			frames = append(frames, at)
		}
		list = append(list, frames)
	}
	require.Equal(t, len(addrs), len(list))
	return list
}

// compareInlined compares what is inlined at all addresses that are executed, and at others all over the code, with
// what llvm-symbolizer says of the same code in reference.
func compareInlined(t *testing.T, prog, reference string) {
	t.Helper()
	o := openFile(t, prog)
	const samples = 3000
	prog, err := filepath.Abs(prog)
	require.NoError(t, err)
	var addrs []uint64
	for _, in := range executed(t, ".", prog) {
		if in.Object == prog {
			addrs = append(addrs, in.Addr)
		}
	}
	runs := len(addrs)
	require.Greater(t, runs, 20)
	for a := o.text.lo; a < o.text.hi; a += max(1, (o.text.hi-o.text.lo)/samples) {
		addrs = append(addrs, a)
	}
	inlined, bad := 0, 0
	for i, want := range symbolizer(t, reference, addrs) {
		got := inlinedFrames(o, addrs[i])
		if len(got) == 1 && len(want) == 1 {
			continue
		}
		if len(got) > 1 {
			inlined++
		}
		if strings.Join(want, "\n") != strings.Join(got, "\n") {
			if bad++; bad < 6 {
				t.Errorf("%s %#x:\nwant %s\n got %s", filepath.Base(prog), addrs[i], strings.Join(want, "\n     "), strings.Join(got, "\n     "))
			}
		}
	}
	require.NoError(t, o.Err())
	t.Logf("%d of %d addresses, of which %d are executed, are in inlined functions, %d differ", inlined, len(addrs), runs, bad)
	require.Greater(t, inlined, 5)
}

// TestOracleInlined compares inlined functions with llvm-symbolizer's, by name, file and line.
func TestOracleInlined(t *testing.T) {
	for _, version := range []string{"2", "4", "5"} {
		compareInlined(t, "testdata/bin/inline"+version, "testdata/bin/inline"+version)
	}
	for i, command := range []string{
		"g++ -g -O1 inline.cc", "g++ -g -O2 inline.cc", "g++ -g -O3 inline.cc", "g++ -gdwarf-2 -O2 inline.cc", "g++ -gdwarf-3 -O2 inline.cc", "g++ -gdwarf-4 -O2 inline.cc",
		"g++ -g -O2 -static inline.cc", "g++ -g -O2 -flto inline.cc sub/two.c -Iinc", "g++ -gdwarf-4 -O2 -fdebug-types-section inline.cc",
		"g++ -g -O2 -ffunction-sections -Wl,--gc-sections inline.cc", "g++ -g -Os -gz=zlib inline.cc",
		"g++ -g -O2 -gsplit-dwarf inline.cc", "g++ -gdwarf-4 -O2 -gsplit-dwarf inline.cc",
		// Packages, compared with the same code whose debug information is not split: llvm-symbolizer 14 gets ranges of
		// split units wrong. (Of two units of gcc's in DWARF 5 llvm-dwp 14 does not end.)
		"llvm-dwp g++ -g -O2 -gsplit-dwarf inline.cc", "llvm-dwp g++ -gdwarf-4 -O2 -gsplit-dwarf sub/two.c inline.cc -Iinc", "dwp g++ -gdwarf-4 -O2 -gsplit-dwarf sub/two.c inline.cc -Iinc",
		"llvm-dwp clang++ -gdwarf-5 -O2 -gsplit-dwarf sub/two.c inline.cc -Iinc", "llvm-dwp clang++ -gdwarf-4 -O2 -gsplit-dwarf -fdebug-types-section sub/two.c inline.cc -Iinc",
		"gcc -g -O3 -Iinc -Isub/../inc one.c sub/two.c three.S",
		"rustc -g -O main.rs", "rustc -g -O -C symbol-mangling-version=v0 main.rs", "rustc -g -O -C lto main.rs", "rustc -g -C opt-level=1 main.rs",
		"go build main.go", "go build -ldflags=-compressdwarf=false main.go",
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			dir := sources(t)
			compiler, flags, _ := strings.Cut(command, " ")
			packer := ""
			if strings.HasSuffix(compiler, "dwp") {
				packer = compiler
				compiler, flags, _ = strings.Cut(flags, " ")
			}
			output := []string{"-o", "prog" + strconv.Itoa(i)}
			if compiler == "go" { // flags stand behind `build`, in front of files
				flags = strings.TrimPrefix(flags, "build ")
				output = append([]string{"build"}, output...)
			}
			tool(t, dir, compiler, append(output, strings.Fields(flags)...)...)
			prog := filepath.Join(dir, "prog"+strconv.Itoa(i))
			reference := prog
			if packer != "" { // of what is in a package no other file is left
				reference += "-whole"
				tool(t, dir, compiler, append([]string{"-o", reference}, strings.Fields(strings.ReplaceAll(flags, "-gsplit-dwarf", ""))...)...)
				tool(t, dir, packer, "-e", prog, "-o", prog+".dwp")
				files, err := filepath.Glob(filepath.Join(dir, "*.dwo"))
				require.NoError(t, err)
				require.NotEmpty(t, files)
				for _, file := range files {
					require.NoError(t, os.Remove(file))
				}
			}
			compareInlined(t, prog, reference)
		})
	}
}
