package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"testing"

	"callgate/internal/journal/outputbus"
	"callgate/internal/protocol"
)

// broken fails a test when it is written to.
type broken struct{ *testing.T }

func (b broken) Write(data []byte) (int, error) {
	b.Errorf("%s was written after the end of the request", data)
	return len(data), nil
}

// What a turn began may ask after its request has ended, when nothing can be written any
// more.
func TestNothingIsWrittenAfterTheEnd(t *testing.T) {
	t.Parallel()
	s := &turnStream{enc: json.NewEncoder(broken{t}), flush: func() error { return nil }, broken: func() { t.Error("broken") }}
	s.close()
	s.send(protocol.TurnEvent{Notice: "late"})
}

// A turn whose end comes before its output has been sent still sends all of it.
func TestOutputBeforeTheEndIsSent(t *testing.T) {
	t.Parallel()
	var bus outputbus.Bus
	ctx, cancel := context.WithCancel(t.Context())
	output := bus.Subscribe(ctx)
	for _, text := range []string{"a", "b", "c"} {
		bus.Publish("c1-1", "stdout", []byte(text))
		bus.Publish("c2-1", "stdout", []byte("another conversation's"))
	}
	cancel()
	var sent bytes.Buffer
	s := &turnStream{enc: json.NewEncoder(&sent), flush: func() error { return nil }, broken: func() { t.Error("broken") }}
	s.outputs(output, "c1-")
	var texts []string
	for decoder := json.NewDecoder(&sent); decoder.More(); {
		var e protocol.TurnEvent
		if err := decoder.Decode(&e); err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(e.Output.Text))
	}
	if want := []string{"a", "b", "c"}; !slices.Equal(texts, want) {
		t.Errorf("sent %q, want %q", texts, want)
	}
}
