package cgout

// rows are rows of counts, all of one width, by number. They lie in chunks: to copy them whenever there are more would
// take several times their memory.
type rows [][]uint64

// chunkRows is how many rows a chunk has.
const chunkRows = 64

// grow makes row i, which follows the last one and is all zeros.
func (r *rows) grow(i, width int) {
	if i/chunkRows == len(*r) {
		*r = append(*r, make([]uint64, chunkRows*width))
	}
}

// at returns row i.
func (r rows) at(i, width int) []uint64 {
	from := i % chunkRows * width
	return r[i/chunkRows][from : from+width : from+width]
}
