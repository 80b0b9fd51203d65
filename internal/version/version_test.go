package version

import (
	"regexp"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNumber(t *testing.T) {
	require.Equal(t, Next+"-dev", Number())
	release, commit, date = "9.8.7", "abc", "2026-01-02"
	defer func() { release, commit, date = "", "", "" }()
	require.Equal(t, "9.8.7", Number())
	require.Regexp(t, `^cgemu 9\.8\.7 \(commit abc of 2026-01-02\), `+regexp.QuoteMeta(runtime.Version()+", "+runtime.GOOS+"/"+runtime.GOARCH)+`$`, Line())
}
