package sem

// simdRows are moves, integers, logic and shuffles in vector and MMX registers.
var simdRows = join(mmxRows)
