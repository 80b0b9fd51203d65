package annotate

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"

	"github.com/cgemu/cgemu/cgout"
)

// An asmFunction has the instructions of one function, ascending by object and address.
type asmFunction []*cgout.Insn

// WriteAsm writes the instructions of each function below their lines: of a report of one profile, of which there
// are counts by instruction.
func (r *Report) WriteAsm(w io.Writer) error {
	insns, err := r.Instructions()
	if err != nil {
		return err
	}
	functions := map[[2]string]asmFunction{}
	for i := range insns.List {
		in := &insns.List[i]
		key := [2]string{in.File, in.Func}
		functions[key] = append(functions[key], in)
	}
	return buffered(w, func(w *bufio.Writer) error { return r.writeAsm(w, functions) })
}

// Instructions returns the counts by instruction, which WriteAsm shows, and WriteHTML if Options.Asm says so. It is an
// error if the report is not of one profile, or that has none.
func (r *Report) Instructions() (*cgout.Insns, error) {
	if len(r.inputs) != 1 {
		return nil, errors.New("annotate: instructions are those of one profile")
	}
	insns, err := r.inputs[0].insns()
	if err != nil {
		return nil, err
	}
	if !slices.Equal(insns.Events, r.Events) {
		return nil, fmt.Errorf("%s: its events %q are not the profile's %q", r.Profiles[0].Name+cgout.InsnsSuffix, insns.Events, r.Events)
	}
	return insns, nil
}

func (r *Report) writeAsm(w *bufio.Writer, functions map[[2]string]asmFunction) error {
	o := &r.o
	fmt.Fprintf(w, "%s\n-- Instructions: %s\n%s\n", rule, o.visible(r.Profiles[0].Cmd), rule)
	total := newGrid(r, "")
	total.add(r, r.Total, r.Total, "PROGRAM TOTALS")
	total.write(w, r, false)
	for _, f := range r.Functions {
		fmt.Fprintf(w, "%s\n-- %s\n%s\n", rule, o.visible(f.title()), rule)
		list := functions[[2]string{f.File.Name, f.Name}]
		if len(list) == 0 {
			w.WriteString("No instructions recorded under this name.\n\n")
			continue
		}
		r.asmGrid(f, list).write(w, r, false)
	}
	return nil
}

// readInsns reads counts by instruction from a file.
func readInsns(files fs.FS, name string) (*cgout.Insns, error) {
	in, err := files.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w (cgemu --dump-instr=yes writes it)", err)
	}
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return cgout.ReadInsns(name, in)
}

// asmGrid lays out the instructions of a function. In front of each run of one line stands its source.
func (r *Report) asmGrid(f *ReportFunction, list asmFunction) *grid {
	g := newGrid(r, "address", "instruction")
	blank := make([]string, len(r.cells(r.Total, r.Total)))
	object, line := "", NoLine
	for _, in := range list {
		if in.Object != object {
			g.textRow(r, blank, "", in.Object)
			object, line = in.Object, NoLine
		}
		if in.Line != line {
			line = in.Line
			text, _ := f.File.LineText(ReportLine{Line: line})
			g.textRow(r, blank, "", strconv.Itoa(line)+"  "+text)
		}
		counts := make([]cgout.Count, len(in.Counts))
		for e, n := range in.Counts {
			counts[e] = cgout.NewCountUint64(n)
		}
		g.add(r, Row{Counts: counts}, f.Row, strconv.FormatUint(in.Addr, 16), "    "+assembly(in, r.o.Syntax))
	}
	return g
}

// textRow adds a row without numbers.
func (g *grid) textRow(r *Report, blank []string, texts ...string) {
	g.rows = append(g.rows, append(slices.Clone(blank), r.texts(texts)...))
	g.of = append(g.of, Row{})
}
