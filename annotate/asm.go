package annotate

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"

	"github.com/cgemu/cgemu/cgout"
)

// asmOption is --asm: the instructions of each function below their lines, from the file of counts by
// instruction beside the profile.
func (v *viewOptions) asmOption() option {
	return option{names: []string{"--asm"}, own: true, flag: func(string) { v.format = "asm" }}
}

// An asmFunction has the instructions of one function, ascending by object and address.
type asmFunction []*cgout.Insn

// writeAsm writes what --asm shows.
func writeAsm(w *bufio.Writer, r *Report, o *options) error {
	if len(r.Profiles) != 1 {
		return usagef("argument --asm: needs one profile")
	}
	functions, err := r.readInsns(r.Profiles[0].Name + cgout.InsnsSuffix)
	if err != nil {
		return err
	}
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
		r.asmGrid(f, list, o.syntax).write(w, r, false)
	}
	return nil
}

// readInsns reads counts by instruction and returns those of each file and function.
func (r *Report) readInsns(name string) (map[[2]string]asmFunction, error) {
	in, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w (cgemu --dump-instr=yes writes it)", err)
	}
	if err != nil {
		return nil, err
	}
	defer in.Close()
	insns, err := cgout.ReadInsns(name, in)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(insns.Events, r.Events) {
		return nil, fmt.Errorf("%s: its events %q are not the profile's %q", name, insns.Events, r.Events)
	}
	functions := map[[2]string]asmFunction{}
	for i := range insns.List {
		in := &insns.List[i]
		key := [2]string{in.File, in.Func}
		functions[key] = append(functions[key], in)
	}
	return functions, nil
}

// asmGrid lays out the instructions of a function in a syntax. In front of each run of one line stands its source.
func (r *Report) asmGrid(f *ReportFunction, list asmFunction, syntax string) *grid {
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
		g.add(r, Row{Counts: counts}, f.Row, strconv.FormatUint(in.Addr, 16), "    "+assembly(in, syntax))
	}
	return g
}

// textRow adds a row without numbers.
func (g *grid) textRow(r *Report, blank []string, texts ...string) {
	g.rows = append(g.rows, append(slices.Clone(blank), r.texts(texts)...))
	g.of = append(g.of, Row{})
}
