package soft

// VRCP14PS, VRSQRT14PS and their kin. SDM Vol. 2, the entry of each mnemonic, says 2^-14 of relative error and which
// operands are special. What the results are beyond that CPUs' makers decide; these are Intel's (README.md): 64
// straight lines, and exact values for powers of two and of four. No exceptions are raised.

// A line gives 17 bits of a result, from its highest on: (at - slope*step) >> 9.
type line struct{ at, slope uint32 }

// bits returns them, moved to where 2^31 stands for 1/2. fraction has the bits behind the operand's highest one; the
// ten behind the first skip, which say which line it is, are the step.
func (l line) bits(fraction uint64, skip int) uint64 {
	step := uint32(fraction << skip >> 54)
	return uint64((l.at-l.slope*step)>>9) << 15
}

// rcpLines are the lines of 1/x, of the first six bits behind the highest one; rsqrtLines are those of 1/sqrt(x): of
// the first five, for even exponents, then for odd ones.
var (
	rcpLines = [64]line{
		{67107072, 1009}, {66074112, 977}, {65073664, 949}, {64102400, 921}, {63159040, 893}, {62244608, 869},
		{61354752, 843}, {60491264, 821}, {59650560, 797}, {58833920, 777}, {58038272, 755}, {57264640, 735},
		{56511488, 717}, {55778048, 699}, {55062784, 681}, {54365184, 663}, {53686016, 647}, {53022976, 631},
		{52377088, 617}, {51745536, 601}, {51129600, 587}, {50528000, 573}, {49940992, 561}, {49366272, 547},
		{48805376, 535}, {48257024, 523}, {47721728, 513}, {47196672, 501}, {46683904, 491}, {46181632, 479},
		{45690368, 469}, {45209344, 459}, {44739072, 451}, {44277504, 441}, {43826176, 433}, {43382784, 423},
		{42949120, 415}, {42523904, 407}, {42106880, 399}, {41698048, 391}, {41297920, 385}, {40903936, 377},
		{40517888, 369}, {40139520, 363}, {39768320, 357}, {39402752, 349}, {39044608, 343}, {38692864, 337},
		{38347520, 331}, {38008064, 325}, {37674496, 319}, {37347840, 315}, {37025280, 309}, {36708608, 303},
		{36398080, 299}, {36091648, 293}, {35791360, 289}, {35495680, 285}, {35204352, 279}, {34919168, 275},
		{34638080, 271}, {34361088, 267}, {34088192, 263}, {33819392, 259},
	}
	rsqrtLines = [64]line{
		{67105920, 1001}, {66080896, 955}, {65102464, 915}, {64166144, 877}, {63268608, 841}, {62407552, 807},
		{61580928, 775}, {60786816, 747}, {60022016, 719}, {59285632, 693}, {58575744, 669}, {57891328, 647},
		{57229568, 625}, {56589568, 603}, {55971712, 585}, {55373184, 567}, {54793088, 549}, {54231424, 533},
		{53686144, 517}, {53156864, 501}, {52643456, 487}, {52144512, 473}, {51659776, 461}, {51188096, 449},
		{50728832, 437}, {50281856, 425}, {49847040, 415}, {49422080, 403}, {49008512, 393}, {48605952, 385},
		{48211840, 375}, {47828224, 367}, {47450752, 707}, {46726272, 675}, {46034432, 647}, {45371904, 619},
		{44738048, 595}, {44129152, 571}, {43544704, 549}, {42982528, 527}, {42442368, 509}, {41921920, 491},
		{41419392, 473}, {40935040, 457}, {40467072, 441}, {40015104, 427}, {39577728, 413}, {39155072, 401},
		{38744960, 389}, {38347136, 377}, {37961600, 365}, {37588096, 355}, {37224832, 345}, {36871936, 335},
		{36528640, 325}, {36195328, 317}, {35870976, 309}, {35554944, 301}, {35246976, 293}, {34946816, 285},
		{34654848, 279}, {34369152, 271}, {34091008, 265}, {33819392, 259},
	}
)

// Rcp14 returns the approximation of 1/x.
func (f *Format) Rcp14(x uint64, mode Mode) (uint64, uint16) {
	a := f.unpackSSE(x, mode)
	mode = mode.WithRounding(0).Masked()
	switch a.class {
	case nan:
		return f.quieten(a), 0
	case zero:
		return f.approximate(exact{infinite, wide{neg: a.neg}}, mode)
	case infinite:
		return f.approximate(exact{zero, wide{neg: a.neg}}, mode)
	}
	q := uint64(1) << 32
	if fraction := a.m << 1; fraction != 0 {
		q = rcpLines[fraction>>58].bits(fraction, 6)
	}
	return f.approximate(exact{normal, makeWide(a.neg, 31-a.exp, u128{hi: q})}, mode)
}

// Rsqrt14 returns the approximation of 1/sqrt(x).
func (f *Format) Rsqrt14(x uint64, mode Mode) (uint64, uint16) {
	a := f.unpackSSE(x, mode)
	mode = mode.WithRounding(0).Masked()
	switch {
	case a.class == nan:
		return f.quieten(a), 0
	case a.class == zero:
		return f.approximate(exact{infinite, wide{neg: a.neg}}, mode)
	case a.neg:
		return f.indefinite(), 0
	case a.class == infinite:
		return f.approximate(exact{class: zero}, mode)
	}
	q, fraction, odd := uint64(1)<<32, a.m<<1, uint64(a.exp&1)
	if fraction != 0 || odd != 0 {
		q = rsqrtLines[odd<<5|fraction>>59].bits(fraction, 5)
	}
	return f.approximate(exact{normal, makeWide(false, 31-a.exp>>1, u128{hi: q})}, mode)
}

// approximate returns e in the format.
func (f *Format) approximate(e exact, mode Mode) (uint64, uint16) {
	r, _ := f.finish(e, mode)
	return f.pack(r), 0
}
