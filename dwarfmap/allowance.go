package dwarfmap

import "fmt"

// An allowance bounds the memory that the names and lines of one object take, and with it the
// time: files can be made in which a few bytes stand for gigabytes. It grows with what is read
// of the file and shrinks with what is kept of that.
type allowance struct{ left, granted int64 }

const (
	// baseAllowance is what an object may take whatever its size.
	baseAllowance = 64 << 20
	// allowancePerByte is what each byte of a section that is read adds. Line tables need the
	// most: 5 bytes make a row of 32, and compilers' tables shrink to a fifth when compressed.
	allowancePerByte = 48
)

func newAllowance() *allowance { return &allowance{baseAllowance, baseAllowance} }

// grant adds what the contents of a section, so long in the file, may take.
func (a *allowance) grant(size uint64) {
	n := int64(min(size, maxSection)) * allowancePerByte
	a.left, a.granted = a.left+n, a.granted+n
}

// take reports whether n bytes are left, and takes them.
func (a *allowance) take(n uint64) bool {
	if n > uint64(a.left) {
		return false
	}
	a.left -= int64(n)
	return true
}

// exceeded is the error for what does not fit.
func (a *allowance) exceeded(what string) error {
	return fmt.Errorf("%s are too many: a file of this size may have names and lines of %d bytes", what, a.granted)
}
