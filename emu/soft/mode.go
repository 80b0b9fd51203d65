package soft

// A Mode says how results are rounded and what follows from exceptions. It is laid out as MXCSR, whose exception flags
// it may have; they decide nothing (SDM Vol. 1, "MXCSR Control and Status Register").
type Mode uint32

// Fields of a Mode besides the masks, which are the exceptions' bits shifted by modeMasks.
const (
	modeDAZ      Mode = 1 << 6  // denormal operands count as zeros
	modeMasks         = 7       // a set bit masks its exception
	modeRounding      = 13      // two bits
	modeFTZ      Mode = 1 << 15 // tiny results become zeros while underflow is masked
)

// exceptions are the bits of a status that stand for exceptions.
const exceptions = IE | DE | ZE | OE | UE | PE

// x87Mode is the Mode of a control word.
func x87Mode(cw uint16) Mode { return Mode(cw&0x3f)<<modeMasks | Mode(cw>>10&3)<<modeRounding }

// masks reports whether all of these exceptions are masked.
func (m Mode) masks(e uint16) bool { return e&^uint16(m>>modeMasks) == 0 }

// rounding is the rounding control: nearest or one of roundDown, roundUp, roundZero.
func (m Mode) rounding() Mode { return m >> modeRounding & 3 }

// WithRounding returns m with a rounding control that an instruction brings: 0 nearest, 1 down, 2 up, 3 to zero.
func (m Mode) WithRounding(rc uint8) Mode {
	return m&^(3<<modeRounding) | Mode(rc&3)<<modeRounding
}

// Masked returns m with all exceptions masked.
func (m Mode) Masked() Mode { return m | Mode(exceptions)<<modeMasks }

// Unmasked returns the exceptions of status that are not masked.
func (m Mode) Unmasked(status uint16) uint16 { return status & exceptions &^ uint16(m>>modeMasks) }
