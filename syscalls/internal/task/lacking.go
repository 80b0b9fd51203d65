package task

import (
	"cmp"
	"maps"
	"slices"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// A Lacking is a system call that a program made and that is missing or refused here, or the operation
// asked for (its error is ENOSYS then).
type Lacking struct {
	Name   string
	Number uint64
	// Answer is the error that the program got, Calls how often.
	Answer string
	Calls  uint64
}

// An answer is a call and the error it got.
type answer struct {
	nr uint64
	e  linux.Errno
}

// MaxLacking is how many different answers are counted: a program may try all numbers there are.
const MaxLacking = 1000

// noteLacking counts a call that ended with e if that is for want of support.
func (k *Kernel) noteLacking(nr uint64, l Level, e linux.Errno) {
	if e == linux.ENOSYS || e != 0 && e < linux.ERESTARTSYS && (l == Missing || l == Refused) {
		if a := (answer{nr, e}); len(k.Answers) < MaxLacking || k.Answers[a] > 0 {
			k.Answers[a]++
		}
	}
}

// Lacking lists what programs asked for and did not get, by number and error.
func (k *Kernel) Lacking() []Lacking {
	keys := slices.SortedFunc(maps.Keys(k.Answers), func(a, b answer) int {
		return cmp.Or(cmp.Compare(a.nr, b.nr), cmp.Compare(a.e, b.e))
	})
	var out []Lacking
	for _, a := range keys {
		out = append(out, Lacking{Name: k.CallName(a.nr), Number: a.nr, Answer: a.e.String(), Calls: k.Answers[a]})
	}
	return out
}
