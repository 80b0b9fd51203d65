//go:build !unix

package testhost

import "os"

var others []os.Signal

func settle() {}
