package host

import "golang.org/x/sys/unix"

// setWord sets a word of struct termios, which has 32 bits here.
func setWord(t *unix.Termios, i int, w uint64) {
	*[4]*uint32{&t.Iflag, &t.Oflag, &t.Cflag, &t.Lflag}[i] = uint32(w)
}
