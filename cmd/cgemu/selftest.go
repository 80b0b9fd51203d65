package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cgemu/cgemu"
	"github.com/cgemu/cgemu/cachesim"
)

// selftestPrograms is an archive of small static programs, those in testdata; selftestDigests has what they leave, by
// what selftestRun.name says: instructions, and a digest of all profiles, the output and the status. Both are made by
// go test -run TestSelftestFiles -update.
var (
	//go:embed selftest/programs.tar.gz
	selftestPrograms []byte
	//go:embed selftest/digests.txt
	selftestDigests string
)

// A selftestRun is one program, run in one way.
type selftestRun struct {
	args      []string
	cpu       string
	simulated bool
}

func (r selftestRun) name() string {
	how := "Ir"
	if r.simulated {
		how = "simulated"
	}
	return strings.Join(r.args, " ") + ", " + r.cpu + ", " + how
}

// selftestArgs are the arguments of programs that have more to do than one thing.
var selftestArgs = map[string][][]string{
	"guest": {{"a", "b"}, {"world"}, {"threads"}, {"signals"}, {"faults", "100"}, {"sleep", "1000"}, {"exit", "3"}, {"kill", "10"}, {"crash"}, {"env"}},
}

// selftestRuns are the runs of programs.
func selftestRuns(programs []string) (list []selftestRun) {
	for _, p := range programs {
		variants := selftestArgs[p]
		if variants == nil {
			variants = [][]string{nil}
		}
		models := []string{"v1", "v3"}
		if p == "avx512" {
			models = []string{"v4"}
		}
		for _, v := range variants {
			for _, cpu := range models {
				for _, simulated := range []bool{false, true} {
					list = append(list, selftestRun{append([]string{"./" + p}, v...), cpu, simulated})
				}
			}
		}
	}
	return list
}

// unpackSelftest writes the programs into a directory, and returns their names, sorted.
func unpackSelftest(dir string) (names []string, err error) {
	z, err := gzip.NewReader(bytes.NewReader(selftestPrograms))
	if err != nil {
		return nil, err
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			slices.Sort(names)
			return names, nil
		}
		if err != nil {
			return nil, err
		}
		b, err := io.ReadAll(r)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, h.Name), b, 0o755)
		}
		if err != nil {
			return nil, err
		}
		names = append(names, h.Name)
	}
}

// do runs the program in dir, and returns what digests.txt has of it.
func (r selftestRun) do(ctx context.Context, dir, engine string) (string, error) {
	var output bytes.Buffer
	program := filepath.Join(dir, filepath.FromSlash(r.args[0]))
	cfg := cgemu.Config{
		Path: program, Args: r.args, Env: []string{"A=1"}, Dir: dir, Isolate: dir, Stdout: struct{ io.Writer }{&output},
		Engine: engine, CPU: r.cpu, TraceChildren: true, Log: io.Discard,
	}
	if r.simulated {
		cfg.Caches, cfg.Branches = &cachesim.Default, true
	}
	res, err := cgemu.Run(ctx, cfg)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	var insns uint64
	for _, one := range append([]*cgemu.Result{res}, res.Children...) {
		one.Profile.Cmd = ""
		if err := one.Profile.Write(h); err != nil {
			return "", err
		}
		insns += one.Profile.Total("Ir")
		fmt.Fprintf(h, "%d\n", one.PID)
	}
	fmt.Fprintf(h, "%q\n%d\n", output.Bytes(), res.Exit.Status())
	return strconv.FormatUint(insns, 10) + fmt.Sprintf(" %x", h.Sum(nil)[:8]), nil
}

// eachSelftest calls f with the name of each run and what it left.
func eachSelftest(ctx context.Context, engine string, f func(name, got string)) error {
	dir, err := os.MkdirTemp("", "cgemu-selftest-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	names, err := unpackSelftest(dir)
	if err != nil {
		return err
	}
	for _, r := range selftestRuns(names) {
		got, err := r.do(ctx, dir, engine)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			got = err.Error()
		}
		f(r.name(), got)
	}
	return nil
}

// runSelftest is `cgemu doctor --selftest`: it writes to w what differs from what all hosts leave, and reports whether
// nothing does.
func runSelftest(ctx context.Context, w io.Writer) error {
	want := map[string]string{}
	for line := range strings.Lines(selftestDigests) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok {
			want[name] = value
		}
	}
	engine, err := cgemu.FindEngine(cgemu.AutoEngine)
	if err != nil {
		return err
	}
	runs, wrong := 0, 0
	err = eachSelftest(ctx, engine.Name, func(name, got string) {
		if runs++; got != want[name] {
			wrong++
			fmt.Fprintf(w, "%-8s %s: %s, not %s\n", "problem", name, got, want[name])
		}
	})
	switch {
	case err != nil:
		return err
	case runs != len(want):
		return fmt.Errorf("%d runs, not %d: this build is broken", runs, len(want))
	case wrong > 0:
		return errors.New(strconv.Itoa(wrong) + " of " + strconv.Itoa(runs) + " runs differ from what they are elsewhere: report them, with the lines above")
	}
	fmt.Fprintf(w, "%-8s selftest: %d runs of small programs by engine %s left what they leave everywhere\n", "ok", runs, engine.Name)
	return nil
}
