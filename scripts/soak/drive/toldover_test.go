package drive

import "testing"

func TestToldOver(t *testing.T) {
	for text, want := range map[string]bool{
		"task ecb8 (mcp_soak__vouch) completed after 0.9 s\ndone": true,
		"task ecb8 (mcp_soak__vouch) was cancelled after 2 s":     true,
		"task ecb8 (mcp_soak__vouch) runs after 0 s":              false,
		"task ecb8 (mcp_soak__vouch) waits for a human after 0 s": false,
		"": false,
	} {
		if toldOver.MatchString(text) != want {
			t.Errorf("%q: want %v", text, want)
		}
	}
}
