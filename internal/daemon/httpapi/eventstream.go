package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"callgate/internal/protocol"
)

// eventStream writes events as they come: one JSON text a line, or server-sent events for whoever asks for
// them.
type eventStream struct {
	w     http.ResponseWriter
	flush func() error
	sse   bool
}

// newEventStream begins the answer; nil: the client has left.
func newEventStream(w http.ResponseWriter, r *http.Request) *eventStream {
	s := &eventStream{w: w, flush: http.NewResponseController(w).Flush}
	if s.sse = strings.Contains(r.Header.Get("Accept"), "text/event-stream"); s.sse {
		w.Header().Set("Content-Type", "text/event-stream")
	} else {
		w.Header().Set("Content-Type", "application/x-ndjson")
	}
	if s.flush() != nil {
		return nil
	}
	return s
}

// send writes an event, and reports whether the client is still there.
func (s *eventStream) send(e protocol.Event) bool {
	data, err := json.Marshal(e)
	if err != nil {
		return false
	}
	switch {
	case !s.sse:
		_, err = fmt.Fprintf(s.w, "%s\n", data)
	case e.Record != nil:
		_, err = fmt.Fprintf(s.w, "id: %d\nevent: record\ndata: %s\n\n", e.Record.Seq, data)
	default:
		_, err = fmt.Fprintf(s.w, "event: output\ndata: %s\n\n", data)
	}
	return err == nil && s.flush() == nil
}
