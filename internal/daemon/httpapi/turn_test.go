package httpapi

import (
	"encoding/json"
	"testing"

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
