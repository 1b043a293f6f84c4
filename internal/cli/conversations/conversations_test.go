package conversations

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"callgate/internal/protocol"
)

// Every event that run --json may write stands in the guide.
func TestEventsAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "guides", "scripts.md"))
	if err != nil {
		t.Fatal(err)
	}
	for f := range reflect.TypeFor[protocol.TurnEvent]().Fields() {
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !strings.Contains(string(page), "| `"+key+"` |") {
			t.Errorf("docs/guides/scripts.md does not tell of %q", key)
		}
	}
}

func TestOutputIsBoundedOnATerminal(t *testing.T) {
	t.Parallel()
	o := outputLines{bounded: true}
	var shown strings.Builder
	for range 20 { // in pieces that end within lines
		shown.WriteString(o.take("c1", "one\ntwo\nthr"))
		shown.WriteString(o.take("c1", "ee\n"))
	}
	shown.WriteString(o.take("c2", strings.Repeat("x", 5000)+"\n"))
	if lines := strings.Count(shown.String(), "\n"); lines != maxOutputLines+1 || shown.Len() > 1000 {
		t.Errorf("%d lines and %d bytes are shown:\n%s", lines, shown.Len(), shown.String())
	}
	if hidden := o.ended("c1"); hidden != 60-maxOutputLines {
		t.Errorf("%d lines are hidden", hidden)
	}
	if o.ended("c1") != 0 || o.ended("c2") != 0 {
		t.Error("lines are hidden that were shown")
	}
	free := outputLines{}
	if text := strings.Repeat("a line\n", 100); free.take("c", text) != text || free.ended("c") != 0 {
		t.Error("output in a file was bounded")
	}
}
