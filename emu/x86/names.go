package x86

import "strconv"

// String returns the mnemonic as Intel writes it.
func (o Op) String() string {
	if int(o) < len(opNames) {
		return opNames[o]
	}
	return "Op(" + strconv.Itoa(int(o)) + ")"
}

// String returns the name insns.txt uses.
func (f Feature) String() string {
	if int(f) < len(featureNames) {
		return featureNames[f]
	}
	return "Feature(" + strconv.Itoa(int(f)) + ")"
}

// IsString reports whether o is one of the string instructions, those for devices aside.
func (o Op) IsString() bool {
	switch o {
	case MOVS, STOS, LODS, SCAS, CMPS:
		return true
	}
	return false
}
