package unicorn

import (
	"fmt"
	"strings"
	"sync"

	"github.com/cgemu/cgemu/emu"
)

// DefaultModel is the name of the model that libunicorn has in full; FullModel has what Go adds.
const (
	DefaultModel = "v1"
	FullModel    = "v2"
)

// executed are the features whose instructions libunicorn executes right in all its versions, or Go
// does.
var executed = sync.OnceValue(func() map[string]bool {
	m, err := emu.ModelByName(FullModel)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	names := map[string]bool{}
	for _, f := range m.Features() {
		names[f] = true
	}
	return names
})

// CheckModel refuses a CPU model that has instructions which the engine has not.
func CheckModel(m *emu.Model) error {
	var missing []string
	for _, f := range m.Features() {
		if !executed()[f] {
			missing = append(missing, f)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("engine unicorn: CPU model %s has instructions that libunicorn lacks or executes wrongly (%s): --cpu=%s or %s",
		m.Name, strings.Join(missing, ", "), DefaultModel, FullModel)
}
