package notion

import (
	"testing"

	"callgate/internal/module/fetch/fetchtest"
	"callgate/tool"
)

func TestServerHangs(t *testing.T) {
	t.Parallel()
	for _, begin := range []string{"", `{"results": [`} {
		url := fetchtest.Hang(t, "application/json", begin)
		b := fetchtest.Open(t, Module(), block{"endpoint": url, "timeout_seconds": 0.2}, fetchtest.Local())
		b.Grant.Credential = "ntn_secret"
		if _, err := b.Call("query", block{"search": "x"}); tool.KindOf(err) != tool.Timeout {
			t.Errorf("after %q: %v (%s)", begin, err, tool.KindOf(err))
		}
	}
}
