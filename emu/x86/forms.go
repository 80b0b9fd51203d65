package x86

// NumForms returns how many forms the table has: lines of insns.txt that describe one.
func NumForms() int { return len(forms) }

// Form returns which of them i is, counted from 0 in the order of insns.txt. i must have been decoded.
func (i *Inst) Form() int { return int(i.form) }
