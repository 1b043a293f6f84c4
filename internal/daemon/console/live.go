package console

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"callgate/internal/client"
	"callgate/internal/daemon/console/calls"
	"callgate/internal/daemon/console/nodes"
	"callgate/internal/protocol"
	"callgate/tool"
)

// The pace of a live page.
const (
	livePause = 300 * time.Millisecond // between two renderings
	liveTick  = 5 * time.Second        // what is on no record is looked at so often
)

// stream writes server-sent events.
type stream struct {
	w    http.ResponseWriter
	last map[string]string // what was sent last, by event
}

func newStream(w http.ResponseWriter) *stream {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	return &stream{w, map[string]string{}}
}

// send sends an event. Line ends in it become lines of data.
func (s *stream) send(event, data string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "event: %s\n", event)
	for line := range strings.SplitSeq(strings.ReplaceAll(data, "\r", "\n"), "\n") {
		fmt.Fprintf(&b, "data: %s\n", line)
	}
	b.WriteString("\n")
	if _, err := s.w.Write([]byte(b.String())); err != nil {
		return err
	}
	return http.NewResponseController(s.w).Flush()
}

// sendNew sends an event unless it says what the last of its name said.
func (s *stream) sendNew(event, data string) error {
	if s.last[event] == data {
		return nil
	}
	s.last[event] = data
	return s.send(event, data)
}

// live streams what waits for a human, and the live part of a page, whenever they change: as
// the journal grows, and now and then.
func (c *Console) live(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(c.ended, cancel)()
	k, part := c.Client(r), r.PathValue("part")
	if !slices.Contains([]string{"waits", "now", "approvals", "journal", "work", "nodes", "conversations", "call"}, part) {
		return tool.Errorf("console.live", tool.NotFound, "no part %s is live", tool.Truncate(part))
	}
	head, err := k.Journal(ctx, protocol.JournalQuery{Newest: true, Limit: 1})
	if err != nil {
		return err
	}
	after := uint64(0)
	if len(head) > 0 {
		after = head[0].Seq
	}
	s := newStream(w)
	changed := follow(ctx, k, after)
	tick := time.NewTicker(liveTick)
	defer tick.Stop()
	for {
		if err := c.sendLive(ctx, s, r, k, part); err != nil {
			return nil // who listened is gone, or the kernel is: the page asks again
		}
		select {
		case <-ctx.Done():
			return nil
		case _, more := <-changed:
			if !more {
				return nil
			}
			select {
			case <-time.After(livePause):
			case <-ctx.Done():
				return nil
			}
		case <-tick.C:
		}
	}
}

// follow says that the journal grew: several records at once are one word.
func follow(ctx context.Context, k *client.Client, after uint64) <-chan struct{} {
	changed := make(chan struct{}, 1)
	go func() {
		defer close(changed)
		for _, err := range k.Follow(ctx, after, false) {
			if err != nil {
				return
			}
			select {
			case changed <- struct{}{}:
			default:
			}
		}
	}()
	return changed
}

// sendLive sends what has changed since it was sent last.
func (c *Console) sendLive(ctx context.Context, s *stream, r *http.Request, k *client.Client, part string) error {
	waiting := c.waits(ctx, k)
	data, err := json.Marshal(waiting.notices())
	if err != nil {
		return err
	}
	if err := s.sendNew("waits", string(data)); err != nil {
		return err
	}
	if part == "waits" {
		return http.NewResponseController(s.w).Flush()
	}
	p := page{Person: c.Person(r), Workspace: c.workspace(r), Waits: waiting}
	if p.Data, err = c.liveData(ctx, r, k, part, waiting); err != nil {
		return err
	}
	var b bytes.Buffer
	if err := c.pages[part].ExecuteTemplate(&b, "live", p); err != nil {
		return err
	}
	return s.sendNew("part", b.String())
}

// liveData is what the live part of a page shows.
func (c *Console) liveData(
	ctx context.Context, r *http.Request, k *client.Client, part string, waiting waits,
) (any, error) {
	switch part {
	case "now":
		return c.nowData(ctx, k, c.workspace(r))
	case "approvals":
		return readApprovals(ctx, k, waiting, false)
	case "conversations":
		return k.Conversations(ctx, conversationsShown)
	case "work":
		return readWork(ctx, k)
	case "nodes":
		return nodes.Read(ctx, k)
	case "journal":
		filter, err := calls.ReadFilter(r.URL.Query(), time.Now())
		if err != nil {
			return nil, err
		}
		return calls.Read(ctx, k, filter, 0, calls.OnPage)
	}
	return calls.ReadStory(ctx, k, r.FormValue("id"))
}
