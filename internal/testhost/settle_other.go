//go:build !unix

package testhost

import "os"

// others: there are no other signals, and nothing to settle.
var others []os.Signal

func settle() {}
