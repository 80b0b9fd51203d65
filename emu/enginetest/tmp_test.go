//go:build linux && amd64
package enginetest
import ("testing";"time")
func TestTmp(t *testing.T) { s:=time.Now(); l := templates(); t.Log(len(l), time.Since(s)); f := map[int]bool{}; for _,x := range l { f[x.form]=true }; t.Log(len(f)) }
