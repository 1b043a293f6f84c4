package speech

import (
	"os"
	"path/filepath"
	"testing"

	"callgate/internal/module"
	"callgate/internal/module/fetch/fetchtest"
	"callgate/tool"
)

// An endpoint that does not answer is given up, and leaves no file.
func TestEndpointHangs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		module func() module.Module
		tool   string
		args   block
	}{
		"speaking": {Speaking, "speak", block{"text": "Hello", "path": "out.mp3"}},
		"hearing":  {Hearing, "transcribe", block{"path": "a.ogg"}},
	} {
		for _, begin := range []string{"", "RIFF"} {
			url := fetchtest.Hang(t, "audio/wav", begin)
			b := fetchtest.Open(t, c.module(), block{"endpoint": url + "/v1", "timeout_seconds": 0.2}, fetchtest.Local())
			if err := os.WriteFile(filepath.Join(b.Dir, "a.ogg"), []byte("OggS"), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := b.Call(c.tool, c.args); tool.KindOf(err) != tool.Timeout {
				t.Errorf("%s after %q: %v (%s)", name, begin, err, tool.KindOf(err))
			}
			if _, err := os.Stat(filepath.Join(b.Dir, "out.mp3")); err == nil {
				t.Errorf("%s after %q: half a file is there", name, begin)
			}
		}
	}
}
