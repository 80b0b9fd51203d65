//go:build linux && amd64

package jit

import "unsafe"

// A rawList is a list whose elements have no pointers: an image has their bytes.
type rawList[T any] []T

// A viewer becomes the list of what is in memory.
type viewer interface {
	// view makes the list that of the elements in b, which begins at a whole word.
	view(b []byte)
}

// A raw is a rawList of some type.
type raw interface {
	viewer
	// bytes returns the elements.
	bytes() []byte
}

// A rawParts is a list of some type that blocks have parts of. It views an image's.
type rawParts interface {
	viewer
	// bytesOf returns the elements that are part k of a block.
	bytesOf(r *blockRecord, k int) []byte
	elementSize() int
}

func (l *rawList[T]) bytes() []byte {
	if len(*l) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&(*l)[0])), len(*l)*int(unsafe.Sizeof((*l)[0])))
}

func (l *rawList[T]) view(b []byte) {
	*l = nil
	if n := len(b) / sizeOf[T](); n > 0 {
		*l = unsafe.Slice((*T)(unsafe.Pointer(&b[0])), n)
	}
}

func (l *list[T]) view(b []byte) { (*rawList[T])(&l.image).view(b) }

func (l *list[T]) bytesOf(r *blockRecord, k int) []byte {
	part := rawList[T](l.of(r, k))
	return part.bytes()
}

func (l *list[T]) elementSize() int { return sizeOf[T]() }

func sizeOf[T any]() int {
	var one T
	return int(unsafe.Sizeof(one))
}

// bytes returns a header as the file has it.
func (h *imageHeader) bytes() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(h)), unsafe.Sizeof(*h))
}
