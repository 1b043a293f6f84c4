package shellcmd_test

import (
	"strings"
	"testing"
	"time"

	"callgate/internal/gate/shellcmd"
)

// No line holds a call for long, however it is nested.
func TestDeepLines(t *testing.T) {
	t.Parallel()
	for _, piece := range []string{"$(", "(", "`", "{ ", "if ", "\"$(", "${x:-", "$((", "<(", "sh -c '", "[[ ( ", "a=(", "! ", "eval "} {
		start := time.Now()
		shellcmd.Parse(strings.Repeat(piece, 64<<10/len(piece)))
		shellcmd.Parse(strings.Repeat(piece, (16<<10)/len(piece)))
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("%q took %s", piece, took)
		}
	}
}
