package sem

// simdRows are moves, integers, logic and shuffles in vector and MMX registers.
func simdRows() parts {
	return join(
		mmxRows(), packedRows(), packedMulRows(), packedShiftRows(), shuffleRows(), permuteRows(), vectorMoveRows(), maskedRows(),
		compareStringRows(), cryptoRows(), galoisRows(),
	)
}
