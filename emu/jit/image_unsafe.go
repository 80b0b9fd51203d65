//go:build linux && amd64

package jit

import "unsafe"

// A rawList is a list whose elements have no pointers: an image has their bytes.
type rawList[T any] []T

// A raw is a rawList of some type.
type raw interface {
	// bytes returns the elements.
	bytes() []byte
	// view makes the list that of the elements in b, which begins at a whole word.
	view(b []byte)
}

func (l *rawList[T]) bytes() []byte {
	if len(*l) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&(*l)[0])), len(*l)*int(unsafe.Sizeof((*l)[0])))
}

func (l *rawList[T]) view(b []byte) {
	var one T
	*l = nil
	if n := len(b) / int(unsafe.Sizeof(one)); n > 0 {
		*l = unsafe.Slice((*T)(unsafe.Pointer(&b[0])), n)
	}
}

// bytes returns a header as the file has it, summed what of it the checksum is of.
func (h *imageHeader) bytes() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(h)), unsafe.Sizeof(*h))
}

func (h *imageHeader) summed() []byte { return h.bytes()[:unsafe.Offsetof(h.Sum)] }
