package sem

import (
	"github.com/cgemu/cgemu/emu/soft"
	"github.com/cgemu/cgemu/emu/x86"
)

// X87Routine returns the address of a routine that an engine may call for op (soft.Routine), 0 if there is none.
func X87Routine(op x86.Op) uintptr {
	if r, ok := x87Routines[op]; ok {
		return r.Address()
	}
	return 0
}

var x87Routines = map[x86.Op]soft.Routine{
	x86.FSIN: soft.RoutineSin, x86.FCOS: soft.RoutineCos, x86.FSINCOS: soft.RoutineSincos, x86.FPTAN: soft.RoutineTan,
	x86.F2XM1: soft.Routine2xm1, x86.FPATAN: soft.RoutinePatan, x86.FYL2X: soft.RoutineYl2x, x86.FYL2XP1: soft.RoutineYl2xp1,
}
