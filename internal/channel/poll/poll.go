// Package poll takes events in from a URL that is asked again and again: the entries of
// a feed (RSS, RDF, Atom), or a page that changes.
//
// Law: the other side is asked with what it said of the last version (ETag,
// Last-Modified), and left alone as long as it wants. An entry is an event once, by its
// guid or id; a page is an event whenever its bytes are others than those that were
// seen last. What is there at the first look is not news, unless the options say so.
// The next look forgets nothing that was not kept. The URL may hold a secret: events,
// errors and what is remembered have the name of the source in its place.
package poll

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"callgate/internal/channel"
	"callgate/internal/netguard"
	"callgate/tool"
)

// Options is what is asked, and how often.
type Options struct {
	URL      string
	Name     string            // by which the source is known, without secrets; "": the URL
	Page     bool              // it is no feed: an event is a change of its bytes
	Headers  map[string]string // sent with every request
	Interval time.Duration
	MaxBody  int64 // bytes; a longer answer is an error
	First    bool  // what is there at the first look is news
	Guard    *netguard.Guard
	State    channel.State
	Report   func(error) // may be nil
}

// The bounds of what is remembered of a feed, and of one look.
const (
	maxSeen    = 5000
	timeout    = 30 * time.Second
	maxEntries = 500 // of one feed
)

// New makes a receiver.
func New(o Options) channel.Receiver {
	o.Name = cmp.Or(o.Name, o.URL)
	s := &source{opt: o, client: o.Guard.Client(5)}
	return &channel.Poller{Interval: o.Interval, Check: s.check, Report: o.Report}
}

type source struct {
	opt    Options
	client *http.Client
}

// memory is what is remembered of a source.
type memory struct {
	URL          string   `json:"url"` // the source's name
	ETag         string   `json:"etag,omitempty"`
	LastModified string   `json:"last_modified,omitempty"`
	Seen         []string `json:"seen,omitempty"` // entries, the newest last
	Page         string   `json:"page,omitempty"` // the hash of a page
	Changes      int      `json:"changes,omitempty"`
}

const op = "poll.Receive"

func (s *source) load(ctx context.Context) (m memory, first bool, err error) {
	data, err := s.opt.State.Load(ctx)
	if err != nil {
		return m, false, err
	}
	if json.Unmarshal(data, &m) != nil || m.URL != s.opt.Name {
		return memory{URL: s.opt.Name}, true, nil // nothing, or of another source
	}
	return m, false, nil
}

// check looks at the source once.
func (s *source) check(ctx context.Context, keep func(channel.Event) error) (time.Duration, error) {
	m, first, err := s.load(ctx)
	if err != nil {
		return 0, err
	}
	answer, err := s.fetch(ctx, &m)
	if err != nil || answer == nil {
		return 0, err
	}
	quiet := first && !s.opt.First
	if s.opt.Page {
		err = s.changed(answer, &m, quiet, keep)
	} else {
		err = s.entries(answer, &m, quiet, keep)
	}
	if err != nil {
		return 0, err
	}
	data, err := json.Marshal(m)
	if err != nil {
		return 0, err
	}
	return 0, s.opt.State.Save(ctx, data)
}

// answer is what a source said.
type answer struct {
	kind string // its media type
	body []byte
}

// fetch asks the source; nil: it has not changed. What it says of this version is put
// into the memory.
func (s *source) fetch(ctx context.Context, m *memory) (*answer, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.opt.URL, nil)
	if err != nil {
		return nil, tool.Errorf(op, tool.Invalid, "the URL cannot be used")
	}
	for name, value := range maps.All(s.opt.Headers) {
		r.Header.Set(name, value)
	}
	r.Header.Set("User-Agent", "callgate")
	if m.ETag != "" {
		r.Header.Set("If-None-Match", m.ETag)
	}
	if m.LastModified != "" {
		r.Header.Set("If-Modified-Since", m.LastModified)
	}
	resp, err := s.client.Do(r)
	if err != nil {
		var e *tool.Error
		if errors.As(err, &e) {
			return nil, e
		}
		return nil, tool.Errorf(op, tool.Unavailable, "%s cannot be reached", r.URL.Host)
	}
	defer s.client.CloseIdleConnections()
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusNotModified:
		return nil, nil
	case resp.StatusCode != http.StatusOK:
		err := tool.Errorf(op, tool.Unavailable, "%s answered %s", r.URL.Host, resp.Status)
		if wait, ok := channel.RetryAfter(resp.Header.Get("Retry-After"), time.Now()); ok {
			return nil, channel.Later(err, wait)
		}
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, s.opt.MaxBody+1))
	if err != nil {
		return nil, tool.Errorf(op, tool.Unavailable, "the answer of %s broke off: %v", r.URL.Host, err)
	}
	if int64(len(body)) > s.opt.MaxBody {
		return nil, tool.Errorf(op, tool.Failed, "the answer of %s has more than %d bytes", r.URL.Host, s.opt.MaxBody).
			WithHint("raise max_body of the trigger, or ask for less")
	}
	m.ETag, m.LastModified = resp.Header.Get("ETag"), resp.Header.Get("Last-Modified")
	return &answer{resp.Header.Get("Content-Type"), body}, nil
}

// changed passes on a page that is another one than last time.
func (s *source) changed(a *answer, m *memory, quiet bool, keep func(channel.Event) error) error {
	now := channel.HashID(string(a.body))
	if now == m.Page {
		return nil
	}
	m.Page = now
	m.Changes++
	if quiet {
		return nil
	}
	return keep(channel.Event{
		ID: channel.HashID(s.opt.Name, strconv.Itoa(m.Changes), now), At: time.Now(), Title: "the page has changed",
		Facts: []channel.Fact{{Name: "url", Value: s.opt.Name}}, Type: a.kind, Body: a.body,
	})
}

// entries passes on the entries of a feed that were not seen, the oldest first.
func (s *source) entries(a *answer, m *memory, quiet bool, keep func(channel.Event) error) error {
	feed, err := parseFeed(a.body)
	if err != nil {
		return tool.Errorf(op, tool.Failed, "%s is no feed: %v", s.opt.Name, err).
			WithHint("write type: poll for a page that is no feed")
	}
	if n := len(feed.Entries); n > maxEntries {
		feed.Entries = feed.Entries[:maxEntries]
	}
	for _, e := range slices.Backward(feed.Entries) { // feeds have the newest first
		id := channel.HashID(e.ID)
		if slices.Contains(m.Seen, id) {
			continue
		}
		if !quiet {
			if err := keep(e.event(feed.Title, s.opt.Name)); err != nil {
				return fmt.Errorf("an entry could not be kept: %w", err)
			}
		}
		m.Seen = append(m.Seen, id)
	}
	m.Seen = m.Seen[max(0, len(m.Seen)-maxSeen):]
	return nil
}

func (e entry) event(feed, source string) channel.Event {
	event := channel.Event{ID: channel.HashID(source, e.ID), At: time.Now(), Title: e.Title, Body: []byte(e.Content)}
	for _, f := range []channel.Fact{
		{Name: "feed", Value: feed}, {Name: "link", Value: e.Link}, {Name: "published", Value: e.Published},
		{Name: "author", Value: e.Author},
	} {
		if f.Value != "" {
			event.Facts = append(event.Facts, f)
		}
	}
	return event
}
