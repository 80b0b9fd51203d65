package image

import (
	"bufio"
	"encoding/binary"
	"errors"
	"maps"
	"slices"
)

// A list of entries is kept in the cache as numbers, of varying length, and texts, each behind its length.

var errList = errors.New("a list in the cache is damaged")

// encodeList writes the list of an archive that is known as id. What fails of that, Flush tells.
func encodeList(to *bufio.Writer, id string, list []entry) {
	w := listWriter{to}
	w.text(id)
	w.number(uint64(len(list)))
	for i := range list {
		e := &list[i]
		w.text(e.name)
		w.number(uint64(e.Kind))
		for _, n := range []uint32{e.Mode, e.UID, e.GID, e.Major, e.Minor, e.skip, boolean(e.sparse)} {
			w.number(uint64(n))
		}
		w.number(uint64(e.Size))
		w.number(uint64(e.Sec))
		w.number(uint64(e.Nsec))
		w.number(uint64(e.off))
		w.text(e.Target)
		w.number(uint64(len(e.Xattrs)))
		for _, k := range slices.Sorted(maps.Keys(e.Xattrs)) {
			w.text(k)
			w.text(e.Xattrs[k])
		}
	}
}

func boolean(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

type listWriter struct{ *bufio.Writer }

func (w listWriter) number(n uint64) { w.Write(binary.AppendUvarint(w.AvailableBuffer(), n)) }

func (w listWriter) text(s string) {
	w.number(uint64(len(s)))
	w.WriteString(s)
}

// decodeList reads what encodeList has made.
func decodeList(text string) (id string, list []entry, err error) {
	r := listReader{text, false}
	id = r.text()
	n := r.number()
	if r.bad || n > uint64(limits.entries) {
		return "", nil, errList
	}
	list = make([]entry, 0, min(n, uint64(len(text))))
	for range n {
		var e entry
		var sparse uint32
		e.name = r.text()
		e.Kind = Kind(r.number())
		for _, to := range []*uint32{&e.Mode, &e.UID, &e.GID, &e.Major, &e.Minor, &e.skip, &sparse} {
			*to = uint32(r.number())
		}
		e.sparse = sparse != 0
		e.Size, e.Sec, e.Nsec, e.off = int64(r.number()), int64(r.number()), int32(r.number()), int64(r.number())
		e.Target = r.text()
		if attrs := r.number(); attrs > 0 && !r.bad {
			e.Xattrs = map[string]string{}
			for range attrs {
				k := r.text()
				if e.Xattrs[k] = r.text(); r.bad {
					break
				}
			}
		}
		if r.bad {
			return "", nil, errList
		}
		list = append(list, e)
	}
	return id, list, nil
}

// A listReader takes a list apart. Its texts are parts of it, not copies.
type listReader struct {
	left string
	bad  bool
}

func (r *listReader) number() (n uint64) {
	for shift := 0; shift < 64 && len(r.left) > 0; shift += 7 {
		c := r.left[0]
		r.left = r.left[1:]
		n |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return n
		}
	}
	r.bad = true
	return 0
}

func (r *listReader) text() string {
	n := r.number()
	if r.bad || n > uint64(len(r.left)) {
		r.bad = true
		return ""
	}
	s := r.left[:n]
	r.left = r.left[n:]
	return s
}
