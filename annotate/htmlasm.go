package annotate

import (
	"strconv"

	"github.com/cgemu/cgemu/cgout"
)

// instructions puts the instructions of the functions on the page that are shown there: [address, file, line, text,
// counts], ascending by address.
func (b *pageBuilder) instructions() error {
	r := b.r
	insns, err := r.Instructions()
	if err != nil {
		return err
	}
	byName := map[string][]int{}
	for i, f := range b.d.Funcs {
		byName[f.Name] = append(byName[f.Name], i)
	}
	for i := range insns.List {
		in := &insns.List[i]
		if fn := b.holder(in, byName[valid(in.Func)]); fn >= 0 {
			counts := make([]cgout.Count, len(in.Counts))
			for e, n := range in.Counts {
				counts[e] = cgout.NewCountUint64(n)
			}
			b.d.Asm[fn] = append(b.d.Asm[fn], []any{
				strconv.FormatUint(in.Addr, 16), b.file(in.File), in.Line, valid(assembly(in, r.o.Syntax)), r.numbers(Row{Counts: counts}, r.Total),
			})
		}
	}
	return nil
}

// holder returns which of the functions of one name has an instruction: the one of its object, if they differ in that,
// or -1.
func (b *pageBuilder) holder(in *cgout.Insn, list []int) int {
	for _, i := range list {
		if o := b.d.Funcs[i].Object; o < 0 || b.d.Objects[o] == valid(in.Object) {
			return i
		}
	}
	if len(list) == 1 {
		return list[0]
	}
	return -1
}
