package annotate

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"regexp"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/cgout"
)

// inMemory is a profile with counts by instruction.
func inMemory() *cgout.Profile {
	p := cgout.New("Ir", "Dr")
	p.Add("a.c", "f", 1, 10, 5)
	p.Add("a.c", "g", 2, 30, 0)
	p.Insns = &cgout.Insns{Events: p.Events, List: []cgout.Insn{
		{Object: "/bin/a", File: "a.c", Func: "f", Line: 1, Addr: 0x1000, Code: []byte{0x90}, Counts: []uint64{10, 5}, Text: "nop"},
	}}
	return p
}

// TestFileAndMemory has one profile in both forms: the reports are equal.
func TestFileAndMemory(t *testing.T) {
	p, path := inMemory(), filepath.Join(t.TempDir(), "p")
	require.NoError(t, p.WriteFile(path))
	for _, write := range []func(in Input, w io.Writer) error{
		func(in Input, w io.Writer) error { return WriteText(w, Defaults(), in, in) },
		func(in Input, w io.Writer) error { return WriteTextDiff(w, Defaults(), in, in) },
		report((*Report).WriteAsm), report((*Report).WriteJSON), report((*Report).WriteCSV),
		report((*Report).WriteMarkdown), report((*Report).WriteHTML),
	} {
		var file, memory bytes.Buffer
		require.NoError(t, write(File(path), &file))
		require.NoError(t, write(Memory(path, p), &memory))
		require.NotZero(t, file.Len())
		// A page says when a file was written.
		dated := regexp.MustCompile(`"date":"\d{4}-\d\d-\d\d"`)
		require.Equal(t, dated.ReplaceAllString(file.String(), `"date":""`), memory.String())
	}
}

// report makes a report and writes it twice at a time.
func report(write func(*Report, io.Writer) error) func(Input, io.Writer) error {
	return func(in Input, w io.Writer) error {
		r, err := New(Defaults(), in)
		if err != nil {
			return err
		}
		var group sync.WaitGroup
		group.Go(func() { write(r, io.Discard) })
		defer group.Wait()
		return write(r, w)
	}
}

// TestZeroOptions: all functions there are, and no sources.
func TestZeroOptions(t *testing.T) {
	r, err := New(Options{Show: []string{}, Sort: []string{}}, Memory("p", inMemory()))
	require.NoError(t, err)
	require.Equal(t, []int{0, 1}, r.Show)
	require.Equal(t, []int{0, 1}, r.Sort)
	require.Len(t, r.Functions, 2)
	require.Equal(t, "g", r.Functions[0].Name)
	require.Equal(t, SourceOff, r.Files[0].Source)
}

func TestOptionErrors(t *testing.T) {
	p, none := Memory("p", inMemory()), Finder{Images: []fs.FS{nil}}
	for _, o := range []Options{
		{Threshold: -1}, {Threshold: math.NaN()}, {MinDelta: &MinDelta{Percent: math.Inf(1)}}, {Top: -1},
		{Syntax: "att"}, {Tree: "callers"}, {Finder: none}, {OldFinder: none}, {NewFinder: none},
	} {
		_, err := New(o, p)
		require.Error(t, err)
		_, err = Compare(o, p, p)
		require.Error(t, err)
		require.Error(t, WriteText(io.Discard, o, p))
	}
	_, err := New(Options{Syntax: "att"}, p)
	require.EqualError(t, err, `annotate: Syntax is "att", which is none of "intel", "gnu" and "go"`)
	_, err = New(Options{Tree: "callers"}, p)
	require.EqualError(t, err, `annotate: Tree is "callers", which is none of "caller", "calling" and "both"`)
	for _, syntax := range []string{"", "intel", "gnu", "go"} {
		_, err = New(Options{Syntax: syntax}, p)
		require.NoError(t, err)
	}
	for option, o := range map[string]Options{
		"Show": {Show: []string{"Ir", "no"}}, "Sort": {Sort: []string{"no"}}, "Derived": {Derived: []string{"no/Ir"}},
	} {
		var missing *MissingEventError
		_, err := New(o, p)
		require.ErrorAs(t, err, &missing)
		require.Equal(t, MissingEventError{option, "no"}, *missing)
		require.ErrorAs(t, WriteText(io.Discard, o, p), &missing)
	}
	_, err = New(Options{Context: -1}, p)
	require.EqualError(t, err, "annotate: Context is less than 0")
	_, err = Compare(Options{Context: -1}, p, p)
	require.EqualError(t, err, "annotate: Context is less than 0")
	require.NoError(t, WriteText(io.Discard, Options{Context: -1}, p), "cg_annotate takes it")

	wrong := errors.New("wrong")
	rename := func(name string) (string, error) { return "", wrong }
	for _, o := range []Options{{RenameFile: rename}, {RenameFunc: rename}} {
		_, err := New(o, p)
		require.ErrorIs(t, err, wrong)
		require.ErrorIs(t, WriteText(io.Discard, o, p), wrong)
	}
}

func TestInputErrors(t *testing.T) {
	p := Memory("p", inMemory())
	_, err := New(Options{})
	require.ErrorIs(t, err, errNoProfile)
	require.ErrorIs(t, WriteText(io.Discard, Options{}), errNoProfile)
	for _, in := range []Input{{}, Memory("p", nil), FileIn(nil, "p")} {
		_, err = New(Options{}, in)
		require.ErrorIs(t, err, errNoProfile)
		_, err = Compare(Options{}, p, in)
		require.ErrorIs(t, err, errNoProfile)
		_, err = NewCalls(Options{}, in)
		require.ErrorIs(t, err, errNoProfile)
		require.ErrorIs(t, WriteText(io.Discard, Options{}, in), errNoProfile)
	}
	_, err = New(Options{}, p, File(filepath.Join(t.TempDir(), "none")))
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = Compare(Options{}, p, Memory("q", cgout.New("Ir")))
	require.ErrorIs(t, err, cgout.ErrEvents)

	without := inMemory()
	without.Insns = nil
	r, err := New(Options{}, Memory("p", without))
	require.NoError(t, err)
	require.EqualError(t, r.WriteAsm(io.Discard), "p: no counts by instruction")
	require.Error(t, r.WriteTable(io.Discard))
	live, err := r.Live(1, false, false)
	require.NoError(t, err)
	require.Equal(t, 1, live.Sources())
	for _, file := range []int{-1, 1} {
		require.EqualError(t, live.WriteSource(io.Discard, file), fmt.Sprintf("annotate: the report has no file %d", file))
	}
	require.NoError(t, live.WriteSource(io.Discard, 0))
	r, err = Compare(Options{}, p, p)
	require.NoError(t, err)
	require.Error(t, r.WriteAsm(io.Discard))
}

// A full writer has no room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestWriterFails(t *testing.T) {
	p := Memory("p", inMemory())
	r, err := New(Options{}, p)
	require.NoError(t, err)
	c, err := Compare(Options{}, p, p)
	require.NoError(t, err)
	for _, err := range []error{
		WriteText(full{}, Options{}, p), r.WriteAsm(full{}), r.WriteJSON(full{}), r.WriteCSV(full{}), r.WriteMarkdown(full{}),
		r.WriteHTML(full{}), c.WriteTable(full{}),
	} {
		require.ErrorIs(t, err, io.ErrShortWrite)
	}
}
