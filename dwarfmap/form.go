package dwarfmap

// Forms of attributes (DWARF 5, section 7.5.6), and those of GNU's dwz.
const (
	formAddr          = 0x01
	formBlock2        = 0x03
	formBlock4        = 0x04
	formData2         = 0x05
	formData4         = 0x06
	formData8         = 0x07
	formString        = 0x08
	formBlock         = 0x09
	formBlock1        = 0x0a
	formData1         = 0x0b
	formFlag          = 0x0c
	formSdata         = 0x0d
	formStrp          = 0x0e
	formUdata         = 0x0f
	formRefAddr       = 0x10
	formRef1          = 0x11
	formRef2          = 0x12
	formRef4          = 0x13
	formRef8          = 0x14
	formRefUdata      = 0x15
	formIndirect      = 0x16
	formSecOffset     = 0x17
	formExprloc       = 0x18
	formFlagPresent   = 0x19
	formStrx          = 0x1a
	formAddrx         = 0x1b
	formRefSup4       = 0x1c
	formStrpSup       = 0x1d
	formData16        = 0x1e
	formLineStrp      = 0x1f
	formRefSig8       = 0x20
	formImplicitConst = 0x21
	formLoclistx      = 0x22
	formRnglistx      = 0x23
	formRefSup8       = 0x24
	formStrx1         = 0x25
	formStrx2         = 0x26
	formStrx3         = 0x27
	formStrx4         = 0x28
	formAddrx1        = 0x29
	formAddrx2        = 0x2a
	formAddrx3        = 0x2b
	formAddrx4        = 0x2c
	formGNUAddrIndex  = 0x1f01
	formGNUStrIndex   = 0x1f02
	formGNURefAlt     = 0x1f20
	formGNUStrpAlt    = 0x1f21
)

// A formReader reads values of attributes.
type formReader struct {
	str      func() []byte // .debug_str, which is read when it is needed
	lineStr  []byte        // .debug_line_str
	offSize  uint64        // of the unit: 4 or 8
	addrSize uint64
	version  uint16
}

// A value is that of an attribute: a number, or a text, as far as we need them.
type value struct {
	n    uint64
	text []byte
	form uint64 // if who reads it sets it
}

// fixedSize returns the size of a form that has one.
func fixedSize(form uint64) (size uint64, ok bool) {
	switch form {
	case formFlagPresent, formImplicitConst:
		return 0, true
	case formData1, formRef1, formFlag, formStrx1, formAddrx1:
		return 1, true
	case formData2, formRef2, formStrx2, formAddrx2:
		return 2, true
	case formStrx3, formAddrx3:
		return 3, true
	case formData4, formRef4, formStrx4, formAddrx4, formRefSup4:
		return 4, true
	case formData8, formRef8, formRefSig8, formRefSup8:
		return 8, true
	}
	return 0, false
}

// read reads a value. It reports false if it does not know the form, and then
// cannot know where the next value is.
func (f *formReader) read(c *cursor, form uint64) (value, bool) {
	if size, ok := fixedSize(form); ok {
		return value{n: c.uint(size)}, true
	}
	switch form {
	case formString:
		return value{text: c.cstring()}, true
	case formStrp:
		return value{text: stringAt(f.str(), c.uint(f.offSize))}, true
	case formLineStrp:
		return value{text: stringAt(f.lineStr, c.uint(f.offSize))}, true
	case formUdata, formRefUdata, formStrx, formAddrx, formLoclistx, formRnglistx, formGNUAddrIndex, formGNUStrIndex:
		return value{n: c.uleb()}, true
	case formSdata:
		return value{n: uint64(c.sleb())}, true
	case formSecOffset, formStrpSup, formGNURefAlt, formGNUStrpAlt:
		return value{n: c.uint(f.offSize)}, true
	case formAddr:
		return value{n: c.uint(min(f.addrSize, 8))}, true
	case formRefAddr:
		// Until version 2 of the size of an address.
		if f.version <= 2 {
			return value{n: c.uint(min(f.addrSize, 8))}, true
		}
		return value{n: c.uint(f.offSize)}, true
	case formBlock1:
		c.take(c.uint(1))
	case formBlock2:
		c.take(c.uint(2))
	case formBlock4:
		c.take(c.uint(4))
	case formBlock, formExprloc:
		c.take(c.uleb())
	case formData16:
		c.take(16)
	case formIndirect:
		// Of itself it would recurse for ever.
		if form = c.uleb(); form == formIndirect || form == formImplicitConst {
			return value{}, false
		}
		return f.read(c, form)
	default:
		return value{}, false
	}
	return value{}, true
}

// skip passes a value over, as read does.
func (f *formReader) skip(c *cursor, form uint64) bool {
	size, ok := fixedSize(form)
	if !ok {
		switch form {
		case formStrp, formLineStrp:
			size = f.offSize
		case formUdata, formSdata:
			c.uleb()
			return true
		case formExprloc, formBlock:
			size = c.uleb()
		default:
			_, ok := f.read(c, form)
			return ok
		}
	}
	c.take(size)
	return true
}
