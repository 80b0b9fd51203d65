package dwarfmap

// Kinds of entries in .debug_rnglists (DWARF 5, section 7.25).
const (
	rleBaseAddressx = 1
	rleStartxEndx   = 2
	rleStartxLength = 3
	rleOffsetPair   = 4
	rleBaseAddress  = 5
	rleStartEnd     = 6
	rleStartLength  = 7
)

// eachRange calls f with the addresses of an entry.
func (d *debugInfo) eachRange(u *infoUnit, e *entry, f func(span)) {
	give := func(lo, hi uint64) {
		if lo < hi {
			f(span{lo + d.bias, hi + d.bias})
		}
	}
	switch {
	case e.hasRanges && u.form.version >= 5:
		d.rangeList(u, e.ranges, give)
	case e.hasRanges:
		d.oldRanges(u, e.ranges.n, give)
	case e.hasLow && e.hasHigh:
		lo, hi := u.address(d, e.low), u.address(d, e.high)
		if e.highIsSize {
			hi += lo
		}
		give(lo, hi)
	}
}

// oldRanges reads a list of .debug_ranges (DWARF 4, section 2.17.3).
func (d *debugInfo) oldRanges(u *infoUnit, off uint64, give func(lo, hi uint64)) {
	if off += u.gnuBase; off >= uint64(len(d.ranges)) {
		return
	}
	c, base := cursor{data: d.ranges[off:]}, u.low
	for {
		lo, hi := c.uint(8), c.uint(8)
		switch {
		case c.bad || lo == 0 && hi == 0 || d.effort < 0:
			return
		case lo == ^uint64(0):
			base = hi
		default:
			give(base+lo, base+hi)
		}
		d.effort -= 16
	}
}

// rangeList reads a list of .debug_rnglists.
func (d *debugInfo) rangeList(u *infoUnit, v value, give func(lo, hi uint64)) {
	off := v.n
	if v.form == formRnglistx {
		at := u.rangesBase + v.n*u.form.offSize
		if v.n >= uint64(len(d.rnglists)) || at >= uint64(len(d.rnglists)) {
			return
		}
		table := cursor{data: d.rnglists[at:]}
		off = u.rangesBase + table.uint(u.form.offSize)
	}
	if off >= uint64(len(d.rnglists)) {
		return
	}
	c, base := cursor{data: d.rnglists[off:]}, u.low
	for !c.bad && d.effort >= 0 {
		left := len(c.data)
		switch c.u8() {
		case rleBaseAddressx:
			base = d.addressAt(u, c.uleb())
		case rleStartxEndx:
			lo, hi := d.addressAt(u, c.uleb()), d.addressAt(u, c.uleb())
			give(lo, hi)
		case rleStartxLength:
			lo := d.addressAt(u, c.uleb())
			give(lo, lo+c.uleb())
		case rleOffsetPair:
			lo, hi := c.uleb(), c.uleb()
			give(base+lo, base+hi)
		case rleBaseAddress:
			base = c.uint(8)
		case rleStartEnd:
			lo, hi := c.uint(8), c.uint(8)
			give(lo, hi)
		case rleStartLength:
			lo := c.uint(8)
			give(lo, lo+c.uleb())
		default: // the end (0), or what nobody knows
			return
		}
		d.effort -= left - len(c.data)
	}
}
