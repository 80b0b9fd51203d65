package host

import "golang.org/x/sys/unix"

// setWord sets a word of struct termios, which has 64 bits here.
func setWord(t *unix.Termios, i int, w uint64) {
	*[4]*uint64{&t.Iflag, &t.Oflag, &t.Cflag, &t.Lflag}[i] = w
}
