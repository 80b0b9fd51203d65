package version

import (
	"regexp"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNumber(t *testing.T) {
	require.Equal(t, Next+"-dev", Number())
	release = "9.8.7"
	defer func() { release = "" }()
	require.Equal(t, "9.8.7", Number())
	require.Regexp(t, `^cgemu 9\.8\.7 \(commit .*\), `+regexp.QuoteMeta(runtime.Version()+", "+runtime.GOOS+"/"+runtime.GOARCH)+`$`, Line())
}
