package x86

// Unsettled has the status flags that instructions leave undefined and CPUs write nevertheless, each as its maker
// likes: two engines may leave others.
var Unsettled = map[Op]Flags{
	MUL: SF | ZF | AF | PF, IMUL: SF | ZF | AF | PF, DIV: StatusFlags, IDIV: StatusFlags,
	BSF: StatusFlags &^ ZF, BSR: StatusFlags &^ ZF,
	TZCNT: OF | SF | AF | PF, LZCNT: OF | SF | AF | PF,
	ANDN: AF | PF, BLSR: AF | PF, BLSMSK: AF | PF, BLSI: AF | PF, BZHI: AF | PF,
	BEXTR: SF | AF | PF,
	ROL:   OF, ROR: OF, RCL: OF, RCR: OF, // but for counts of 1
	SHL: AF | OF, SHR: AF | OF, SAR: AF | OF, SHLD: AF | OF | CF, SHRD: AF | OF | CF,
}
