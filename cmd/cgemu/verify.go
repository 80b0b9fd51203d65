package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/cgemu/cgemu"
)

// exitDiffers is the status of --verify when the two runs differ.
const exitDiffers = 123

// verify runs the program twice and compares what the runs leave. The profiles and the output that stay are
// those of the first.
func (k *keeper) verify(ctx context.Context, cfg cgemu.Config) int {
	in, err := inputTwice(os.Stdin, k.log)
	if err != nil {
		return fail(exitFailed, err)
	}
	first, err := k.attempt(ctx, cfg, in)
	if err != nil {
		return k.o.failStart(cfg.Args[0], err)
	}
	defer first.close()
	if err := first.show(); err != nil {
		return fail(exitFailed, err)
	}
	if k.err != nil {
		return fail(exitFailed, k.err)
	}
	if first.res.Exit.Interrupted {
		return status(ctx, first.res)
	}
	cfg.Log, cfg.Strace = io.Discard, nil
	defer shiftMemory()()
	second, err := (&keeper{o: k.o, paths: k.paths, files: k.files}).attempt(ctx, cfg, in)
	if err != nil {
		return k.o.failStart(cfg.Args[0], err)
	}
	defer second.close()
	if second.res.Exit.Interrupted {
		fmt.Fprintln(k.log, "cgemu: --verify: the second run was interrupted; nothing is compared")
		return status(ctx, second.res)
	}
	differences, err := first.compare(second)
	if err != nil {
		return fail(exitFailed, err)
	}
	if len(differences) == 0 {
		return status(ctx, first.res)
	}
	for _, d := range differences {
		fmt.Fprintf(k.log, "cgemu: --verify: %s\n", d)
	}
	fmt.Fprintln(k.log, "cgemu: --verify: the two runs differ")
	return exitDiffers
}

// An input is what gives both runs the same to read, from the same place on.
type input struct {
	*os.File
	start int64
}

// inputTwice makes an input of in. What cannot be read again is read to its end first.
func inputTwice(in *os.File, log io.Writer) (input, error) {
	if start, err := in.Seek(0, io.SeekCurrent); err == nil {
		return input{in, start}, nil
	}
	if term.IsTerminal(int(in.Fd())) {
		fmt.Fprintln(log, "cgemu: --verify: a terminal cannot be read twice; the program gets an empty standard input")
		null, err := os.Open(os.DevNull)
		return input{null, 0}, err
	}
	f, err := spool("stdin")
	if err != nil {
		return input{}, err
	}
	if _, err := io.Copy(f, in); err != nil {
		return input{}, fmt.Errorf("--verify: standard input: %w", err)
	}
	return input{f, 0}, nil
}

// An attempt is a run and what it wrote. Its outputs are one file if cgemu's own are one.
type attempt struct {
	res            *cgemu.Result
	stdout, stderr *os.File
	kept           []kept
}

// attempt runs the program with its output kept.
func (k *keeper) attempt(ctx context.Context, cfg cgemu.Config, in input) (_ *attempt, err error) {
	k.keep = true
	a := &attempt{}
	defer func() {
		if err != nil {
			a.close()
		}
	}()
	if a.stdout, err = spool("stdout"); err != nil {
		return nil, err
	}
	a.stderr = a.stdout
	if !sameFile(os.Stdout, os.Stderr) {
		if a.stderr, err = spool("stderr"); err != nil {
			return nil, err
		}
	}
	if _, err := in.Seek(in.start, io.SeekStart); err != nil {
		return nil, fmt.Errorf("--verify: standard input: %w", err)
	}
	cfg.Stdin, cfg.Stdout, cfg.Stderr = in.File, a.stdout, a.stderr
	if a.res, err = k.run(ctx, cfg); err != nil {
		return nil, err
	}
	a.kept = k.kept
	return a, nil
}

func sameFile(a, b *os.File) bool {
	x, err := a.Stat()
	if err != nil {
		return false
	}
	y, err := b.Stat()
	return err == nil && os.SameFile(x, y)
}

func (a *attempt) close() {
	for _, f := range []*os.File{a.stdout, a.stderr} {
		if f != nil {
			f.Close() // the second time it is closed already
		}
	}
}

// An output is one of the files that the program wrote to, and cgemu's own.
type output struct {
	name     string
	file, to *os.File
}

func (a *attempt) outputs() []output {
	if a.stdout == a.stderr {
		return []output{{"standard output", a.stdout, os.Stdout}}
	}
	return []output{{"standard output", a.stdout, os.Stdout}, {"standard error", a.stderr, os.Stderr}}
}

// show passes on what the program wrote.
func (a *attempt) show() error {
	for _, o := range a.outputs() {
		if _, err := o.file.Seek(0, io.SeekStart); err != nil {
			return err
		}
		if _, err := io.Copy(o.to, o.file); err != nil {
			return err
		}
	}
	return nil
}

// compare says where the runs differ: the first difference of each kind.
func (a *attempt) compare(b *attempt) (differences []string, err error) {
	if x, y := a.res.Exit.Status(), b.res.Exit.Status(); x != y {
		differences = append(differences, fmt.Sprintf("the exit status is %d in the first run, %d in the second", x, y))
	}
	second := b.outputs()
	for i, o := range a.outputs() {
		d, err := differentOutput(o.file, second[i].file)
		if err != nil {
			return nil, err
		}
		if d != "" {
			differences = append(differences, o.name+": "+d)
		}
	}
	if d := differentProfiles(a.kept, b.kept); d != "" {
		differences = append(differences, d)
	}
	return differences, nil
}

// differentOutput describes the first byte that differs.
func differentOutput(f, g *os.File) (string, error) {
	for _, f := range []*os.File{f, g} {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return "", err
		}
	}
	a, b := bufio.NewReader(f), bufio.NewReader(g)
	line := 1
	for n := 0; ; n++ {
		x, errX := a.ReadByte()
		y, errY := b.ReadByte()
		if err := cmp.Or(errX, errY); err != nil && err != io.EOF {
			return "", err
		}
		switch {
		case errX != nil && errY != nil:
			return "", nil
		case errX != nil:
			return fmt.Sprintf("ends after %d bytes, in line %d, in the first run; the second goes on with %q", n, line, y), nil
		case errY != nil:
			return fmt.Sprintf("ends after %d bytes, in line %d, in the second run; the first goes on with %q", n, line, x), nil
		case x != y:
			return fmt.Sprintf("byte %d, in line %d, is %q in the first run, %q in the second", n+1, line, x, y), nil
		case x == '\n':
			line++
		}
	}
}

// differentProfiles describes the first difference of the profiles of two runs.
func differentProfiles(a, b []kept) string {
	for i := range min(len(a), len(b)) {
		if a[i].name != b[i].name {
			return fmt.Sprintf("profile %d is %s in the first run, %s in the second", i+1, a[i].name, b[i].name)
		}
		if d := a[i].profile.Difference(b[i].profile); d != "" {
			return a[i].name + ": " + d
		}
	}
	switch {
	case len(a) > len(b):
		return a[len(b)].name + ": only the first run leaves it"
	case len(a) < len(b):
		return b[len(a)].name + ": only the second run leaves it"
	}
	return ""
}
