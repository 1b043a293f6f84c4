package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"callgate/internal/daemon/httpapi/feed"
	"callgate/internal/daemon/wire"
	"callgate/internal/journal/outputbus"
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

// sendRecords writes records, and reports whether the client is still there.
func (s *eventStream) sendRecords(entries []feed.Entry) bool {
	var b []byte
	for _, e := range entries {
		if s.sse {
			b = fmt.Appendf(b, "id: %d\nevent: record\ndata: %s\n\n", e.Seq, e.Data)
		} else {
			b = append(append(b, e.Data...), '\n')
		}
	}
	return s.write(b)
}

// sendOutput writes what a call printed, and reports whether the client is still there.
func (s *eventStream) sendOutput(out outputbus.Output) bool {
	output := wire.Output(out)
	data, err := json.Marshal(protocol.Event{Output: &output})
	if err != nil {
		return false
	}
	if s.sse {
		return s.write(fmt.Appendf(nil, "event: output\ndata: %s\n\n", data))
	}
	return s.write(append(data, '\n'))
}

func (s *eventStream) write(b []byte) bool {
	_, err := s.w.Write(b)
	return err == nil && s.flush() == nil
}
