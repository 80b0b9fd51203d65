//go:build !unix

package outfile

import (
	"errors"
	"os"
)

// descriptorOf finds nothing: descriptors have no names here.
func descriptorOf(string) (fd int, ok bool) { return 0, false }

func duplicate(int, string) (*os.File, error) { return nil, errors.ErrUnsupported }
