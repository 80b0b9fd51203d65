package task

import (
	"cmp"
	"maps"
	"slices"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// An UnsupportedCall is a system call that a program has made and that is missing or refused here, or of which the
// operation asked for is (its error is ENOSYS then).
type UnsupportedCall struct {
	Name   string
	Number uint64
	// Answer is the error that the program got, Calls how often.
	Answer string
	Calls  uint64
}

// A refusal is a call together with the error that it ended with.
type refusal struct {
	nr uint64
	e  linux.Errno
}

// maxUnsupported bounds the refusals that are told apart: a program may try all numbers there are.
const maxUnsupported = 1000

// noteUnsupported counts a call that ended with e, if that is for want of support.
func (k *Kernel) noteUnsupported(nr uint64, l Level, e linux.Errno) {
	if e == linux.ENOSYS || e != 0 && e < linux.ERESTARTSYS && (l == Missing || l == Refused) {
		if a := (refusal{nr, e}); len(k.refusals) < maxUnsupported || k.refusals[a] > 0 {
			k.refusals[a]++
		}
	}
}

// UnsupportedCalls lists what programs have asked for and not got, by number and error.
func (k *Kernel) UnsupportedCalls() []UnsupportedCall {
	keys := slices.SortedFunc(maps.Keys(k.refusals), func(a, b refusal) int {
		return cmp.Or(cmp.Compare(a.nr, b.nr), cmp.Compare(a.e, b.e))
	})
	var out []UnsupportedCall
	for _, a := range keys {
		out = append(out, UnsupportedCall{Name: k.CallName(a.nr), Number: a.nr, Answer: a.e.String(), Calls: k.refusals[a]})
	}
	return out
}
