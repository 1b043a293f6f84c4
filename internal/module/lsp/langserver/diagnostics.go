package langserver

import (
	"bytes"
	"context"
	"encoding/json"
	"time"
)

// Position is a place in a text: a line and UTF-16 units of it, from zero on.
type Position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

// Range is a part of a text.
type Range struct {
	Start Position `json:"start"`
	End   Position `json:"end"`
}

// Diagnostic is what a server finds wrong.
type Diagnostic struct {
	Range    Range           `json:"range"`
	Severity int             `json:"severity,omitempty"` // 1 error, 2 warning, 3 information, 4 hint
	Code     json.RawMessage `json:"code,omitempty"`
	Source   string          `json:"source,omitempty"`
	Message  string          `json:"message"`
	Data     json.RawMessage `json:"data,omitempty"`
}

type published struct {
	version int // of the document; 0: the server did not say
	order   int
	at      time.Time
	items   []Diagnostic
	size    int // of the message that brought them
}

// What is kept of the diagnostics of a server.
const (
	maxPublished   = 2000 // files
	maxDiagnostics = 500  // of one file
	maxBytes       = 32 << 20
)

// firstDiagnostics decodes no more diagnostics than are kept.
type firstDiagnostics []Diagnostic

// UnmarshalJSON reads the beginning of a list.
func (d *firstDiagnostics) UnmarshalJSON(text []byte) error {
	in := json.NewDecoder(bytes.NewReader(text))
	if begin, err := in.Token(); err != nil || begin != json.Delim('[') {
		return err // null is none
	}
	for in.More() && len(*d) < maxDiagnostics {
		var one Diagnostic
		if err := in.Decode(&one); err != nil {
			return err
		}
		*d = append(*d, one)
	}
	return nil
}

// publish keeps what a server finds wrong in a file.
func (s *Server) publish(params json.RawMessage) {
	var p struct {
		URI         string           `json:"uri"`
		Version     int              `json:"version"`
		Diagnostics firstDiagnostics `json:"diagnostics"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	uri := p.URI
	if name := Path(p.URI); name != "" {
		uri = URI(name) // servers write addresses in several ways
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before, known := s.published[uri]
	kept := s.kept - before.size + len(params)
	if !known && len(s.published) >= maxPublished || kept > maxBytes {
		return
	}
	s.kept = kept
	s.order++
	s.published[uri] = published{
		version: p.Version, order: s.order, at: time.Now(), items: p.Diagnostics, size: len(params),
	}
	s.tell()
}

// quiet is how long a server that publishes must say nothing more, and be at nothing, before
// what it said counts as all.
const quiet = 250 * time.Millisecond

// Diagnostics are what the server finds wrong in a file that it was told. settled is false where
// the server was not done within the wait.
func (s *Server) Diagnostics(
	ctx context.Context, name string, wait time.Duration,
) (found []Diagnostic, settled bool, err error) {
	limited, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if s.can.Diagnostic != nil && s.can.Diagnostic != false {
		var report struct {
			Items []Diagnostic `json:"items"`
		}
		err := s.Call(limited, "textDocument/diagnostic",
			map[string]any{"textDocument": map[string]any{"uri": URI(name)}}, &report)
		if err != nil && ctx.Err() == nil && limited.Err() != nil {
			return nil, false, nil
		}
		return report.Items[:min(len(report.Items), maxDiagnostics)], true, err
	}
	for {
		p, news, left := s.waiting(URI(name))
		if left == 0 {
			return p.items, true, nil
		}
		var after <-chan time.Time
		if left > 0 {
			after = time.After(left)
		}
		select {
		case <-news:
		case <-after:
		case <-s.conn.Failed():
			return nil, false, s.conn.Err()
		case <-ctx.Done():
			return nil, false, context.Cause(ctx)
		case <-limited.Done():
			return p.items, false, nil
		}
	}
}

// waiting returns what is published of a file, and how long it must stay so until it counts;
// less than zero: until there is news.
func (s *Server) waiting(uri string) (p published, news <-chan struct{}, left time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.published[uri]
	d := s.documents[uri]
	switch {
	case !ok || d == nil || p.version != 0 && p.version < d.version || p.order <= d.asOf || len(s.busy) > 0:
		return p, s.news, -1
	default:
		return p, s.news, max(quiet-time.Since(p.at), 0)
	}
}
