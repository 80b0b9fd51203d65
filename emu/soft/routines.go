package soft

// routines.go has x87's functions for what nearly all operands are: normal numbers, rounding to nearest, and no
// exception that is not masked. A routine computes them with fewer bits, and knows a bound of the error; where the
// rounding, also one to 67 bits in between, is not certain in spite of it, it gives no result, and the function has to
// be computed with all bits. So results are the same.

// A Routine is one of x87's functions, as its routine.
type Routine int

// The functions, in the order of routineEntries.
const (
	RoutineSin Routine = iota
	RoutineCos
	RoutineSincos
	RoutineTan
	Routine2xm1
	RoutinePatan
	RoutineYl2x
	RoutineYl2xp1
	Routines // how many there are
)

// The routines are for this control word, whatever the bits are that have no meaning.
const (
	routineControl = 0x33f
	routineIgnored = 0xf0c0
)

// Fsin executes FSIN on ST(0).
func Fsin(x F80, cw uint16) Result { return unaryRoutine(RoutineSin, fsin, x, cw) }

// Fcos executes FCOS on ST(0).
func Fcos(x F80, cw uint16) Result { return unaryRoutine(RoutineCos, fcos, x, cw) }

// Fsincos executes FSINCOS on ST(0): Value is the sine, Pushed the cosine. C1 tells how the cosine was rounded.
func Fsincos(x F80, cw uint16) Result { return unaryRoutine(RoutineSincos, fsincos, x, cw) }

// Fptan executes FPTAN on ST(0): Value is the tangent, Pushed is 1.
func Fptan(x F80, cw uint16) Result { return unaryRoutine(RoutineTan, fptan, x, cw) }

// F2xm1 executes F2XM1 on ST(0): 2^x - 1. The SDM leaves the result undefined for |x| > 1; the reference returns x.
func F2xm1(x F80, cw uint16) Result { return unaryRoutine(Routine2xm1, f2xm1, x, cw) }

// Fpatan executes FPATAN on y in ST(1) and x in ST(0): the angle of the point (x, y).
func Fpatan(y, x F80, cw uint16) Result { return binaryRoutine(RoutinePatan, fpatan, y, x, cw) }

// Fyl2x executes FYL2X on y in ST(1) and x in ST(0): y * log2(x).
func Fyl2x(y, x F80, cw uint16) Result { return binaryRoutine(RoutineYl2x, fyl2x, y, x, cw) }

// Fyl2xp1 executes FYL2XP1 on y in ST(1) and x in ST(0): y * log2(x+1).
func Fyl2xp1(y, x F80, cw uint16) Result { return binaryRoutine(RoutineYl2xp1, fyl2xp1, y, x, cw) }

// unaryRoutine executes an instruction on ST(0), by f's routine if that has the result.
func unaryRoutine(f Routine, whole func(F80, uint16) Result, x F80, cw uint16) Result {
	if r, ok := fromRoutine(f, F80{}, x, cw); ok {
		return r
	}
	return whole(x, cw)
}

// binaryRoutine executes one on ST(1) and ST(0).
func binaryRoutine(f Routine, whole func(y, x F80, cw uint16) Result, y, x F80, cw uint16) Result {
	if r, ok := fromRoutine(f, y, x, cw); ok {
		return r
	}
	return whole(y, x, cw)
}
