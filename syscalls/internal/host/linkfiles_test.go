//go:build !linux || portable

package host

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLinkText checks that a link's target comes back as it was, and that other texts are no links.
func TestLinkText(t *testing.T) {
	for _, target := range []string{"a", "../b c/d", "/usr/lib/ä€😀", `c:\x`, "a|b?"} {
		got, ok := linkTarget(linkText(target))
		require.True(t, ok)
		require.Equal(t, target, got)
	}
	require.Equal(t, "!<symlink>\xff\xfea\x00\x00\x00", string(linkText("a")))
	for _, text := range []string{"", "!<symlink>", "!<symlink>\xff\xfe", "!<symlink>\xff\xfe\x00\x00", "!<symlink>\xff\xfea", "#!/bin/sh\n"} {
		_, ok := linkTarget([]byte(text))
		require.False(t, ok, "%q", text)
	}
}
