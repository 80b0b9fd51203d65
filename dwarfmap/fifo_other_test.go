//go:build !unix

package dwarfmap

import "testing"

func mkfifo(t *testing.T, _ string) { t.Skip("no FIFOs on this host") }
