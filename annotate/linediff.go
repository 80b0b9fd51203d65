package annotate

// A lineMap says which line of a new text each line of an old one became, and the
// other way round. Numbers begin at 1; 0 is none. The nil map says that lines have
// kept their numbers.
type lineMap struct{ to, from []int }

// at returns the new number of a line, NoLine if there is none.
func (m *lineMap) at(line int) int {
	if m == nil {
		return line
	}
	return lookUp(m.to, line)
}

// back returns the old number of a line, NoLine if there is none.
func (m *lineMap) back(line int) int {
	if m == nil {
		return line
	}
	return lookUp(m.from, line)
}

func lookUp(list []int, line int) int {
	switch {
	case line == 0:
		return 0
	case line > len(list) || list[line-1] == 0:
		return NoLine
	}
	return list[line-1]
}

// matchLines compares texts. It is a patience diff: lines that either side has
// once are matched first, in the longest order that both share; between them the
// same again, or a longest common subsequence. Where as many lines were removed as
// added, they are taken for changed lines.
func matchLines(old, new []string) *lineMap {
	d := differ{old, new, make([]int, len(old))}
	d.match(0, len(old), 0, len(new))
	d.changed()
	m := &lineMap{d.m, make([]int, len(new))}
	for i, j := range d.m {
		if j > 0 {
			m.from[j-1] = i + 1
		}
	}
	return m
}

type differ struct {
	old, new []string
	m        []int // from old to new, of what is matched so far
}

// maxCells bounds the table of lcs.
const maxCells = 1 << 20

// match matches old[i:iEnd] with new[j:jEnd].
func (d *differ) match(i, iEnd, j, jEnd int) {
	for i < iEnd && j < jEnd && d.old[i] == d.new[j] {
		d.m[i] = j + 1
		i, j = i+1, j+1
	}
	for i < iEnd && j < jEnd && d.old[iEnd-1] == d.new[jEnd-1] {
		iEnd, jEnd = iEnd-1, jEnd-1
		d.m[iEnd] = jEnd + 1
	}
	if i == iEnd || j == jEnd {
		return
	}
	anchors := d.anchors(i, iEnd, j, jEnd)
	if len(anchors) == 0 {
		if (iEnd-i+1)*(jEnd-j+1) <= maxCells {
			d.lcs(i, iEnd, j, jEnd)
		}
		return
	}
	for _, a := range anchors {
		d.match(i, a[0], j, a[1])
		d.m[a[0]] = a[1] + 1
		i, j = a[0]+1, a[1]+1
	}
	d.match(i, iEnd, j, jEnd)
}

// anchors returns pairs of lines that are there once on each side: of these the
// longest list that ascends on both sides.
func (d *differ) anchors(i, iEnd, j, jEnd int) [][2]int {
	type place struct{ n, at int }
	places := map[string]place{}
	for k := j; k < jEnd; k++ {
		p := places[d.new[k]]
		places[d.new[k]] = place{p.n + 1, k}
	}
	seen := map[string]int{}
	for k := i; k < iEnd; k++ {
		seen[d.old[k]]++
	}
	var pairs [][2]int
	for k := i; k < iEnd; k++ {
		if p := places[d.old[k]]; p.n == 1 && seen[d.old[k]] == 1 {
			pairs = append(pairs, [2]int{k, p.at})
		}
	}
	return ascending(pairs)
}

// ascending returns a longest subsequence whose second numbers ascend.
func ascending(pairs [][2]int) [][2]int {
	var tails []int // of the best subsequence of each length, as indexes of pairs
	before := make([]int, len(pairs))
	for k, p := range pairs {
		lo, hi := 0, len(tails)
		for lo < hi {
			if mid := (lo + hi) / 2; pairs[tails[mid]][1] < p[1] {
				lo = mid + 1
			} else {
				hi = mid
			}
		}
		before[k] = -1
		if lo > 0 {
			before[k] = tails[lo-1]
		}
		tails = append(tails[:lo], append([]int{k}, tails[min(lo+1, len(tails)):]...)...)
	}
	if len(tails) == 0 {
		return nil
	}
	list := make([][2]int, len(tails))
	for n, k := len(tails)-1, tails[len(tails)-1]; n >= 0; n, k = n-1, before[k] {
		list[n] = pairs[k]
	}
	return list
}

// lcs matches a longest common subsequence, by the table of the textbooks.
func (d *differ) lcs(i, iEnd, j, jEnd int) {
	width := jEnd - j + 1
	length := make([]int32, (iEnd-i+1)*width) // of what lies behind (row, column)
	for r := iEnd - i - 1; r >= 0; r-- {
		for c := width - 2; c >= 0; c-- {
			at := r*width + c
			if d.old[i+r] == d.new[j+c] {
				length[at] = length[at+width+1] + 1
			} else {
				length[at] = max(length[at+width], length[at+1])
			}
		}
	}
	for r, c := 0, 0; i+r < iEnd && j+c < jEnd; {
		at := r*width + c
		switch {
		case d.old[i+r] == d.new[j+c]:
			d.m[i+r] = j + c + 1
			r, c = r+1, c+1
		case length[at+width] >= length[at+1]:
			r++
		default:
			c++
		}
	}
}

// changed matches what lies between matched lines, if it is as long on both sides.
func (d *differ) changed() {
	i, j := 0, 0 // behind the last match
	for k := 0; k <= len(d.m); k++ {
		next := len(d.new)
		if k < len(d.m) {
			if d.m[k] == 0 {
				continue
			}
			next = d.m[k] - 1
		}
		if k-i == next-j {
			for n := range k - i {
				d.m[i+n] = j + n + 1
			}
		}
		i, j = k+1, next+1
	}
}
