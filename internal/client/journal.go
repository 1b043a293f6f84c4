package client

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"callgate/internal/protocol"
	"callgate/tool"
)

// Journal reads records.
func (c *Client) Journal(ctx context.Context, q protocol.JournalQuery) ([]protocol.Record, error) {
	var list []protocol.Record
	err := c.get(ctx, "/v1/journal", queryValues(q), &list)
	return list, err
}

// Verify has the kernel verify its journal.
func (c *Client) Verify(ctx context.Context) (protocol.VerifyReport, error) {
	var r protocol.VerifyReport
	err := c.get(ctx, "/v1/journal/verify", nil, &r)
	return r, err
}

// DoubtQuery selects calls in doubt; its zero value all that are.
type DoubtQuery struct {
	All  bool   // also those that are no longer in doubt
	Call string // this one, with all that is known of it
}

// Doubts lists calls that began and whose end was never recorded.
func (c *Client) Doubts(ctx context.Context, q DoubtQuery) ([]protocol.Doubt, error) {
	if q.Call != "" {
		var d protocol.Doubt
		err := c.get(ctx, "/v1/doubts/"+url.PathEscape(q.Call), nil, &d)
		return []protocol.Doubt{d}, err
	}
	var list []protocol.Doubt
	err := c.get(ctx, "/v1/doubts", url.Values{"all": {strconv.FormatBool(q.All)}}, &list)
	return list, err
}

// Resolve records how a call in doubt ended.
func (c *Client) Resolve(ctx context.Context, call string, r protocol.ResolveDoubt) error {
	return c.do(ctx, http.MethodPost, "/v1/doubts/"+url.PathEscape(call), nil, r, nil)
}

// AcceptLoss lets the journal go on although records were lost.
func (c *Client) AcceptLoss(ctx context.Context, r protocol.AcceptLoss) error {
	return c.do(ctx, http.MethodPost, "/v1/journal/accept-loss", nil, r, nil)
}

// Prune deletes old epochs of the journal.
func (c *Client) Prune(ctx context.Context, r protocol.Prune) (protocol.PruneResult, error) {
	var got protocol.PruneResult
	err := c.do(ctx, http.MethodPost, "/v1/journal/prune", nil, r, &got)
	return got, err
}

// Export writes the journal as JSON lines.
func (c *Client) Export(ctx context.Context, w io.Writer, q protocol.JournalQuery) error {
	return c.copy(ctx, w, "/v1/journal/export", queryValues(q))
}

// Follow yields each record after a sequence number and, if live, what calls print
// while they run. It waits for new ones until ctx ends or the kernel stops.
func (c *Client) Follow(ctx context.Context, after uint64, live bool) iter.Seq2[protocol.Event, error] {
	query := url.Values{"after": {strconv.FormatUint(after, 10)}}
	if live {
		query.Set("live", "true")
	}
	return func(yield func(protocol.Event, error) bool) {
		resp, err := c.send(ctx, http.MethodGet, "/v1/journal/follow", query, nil)
		if err != nil {
			yield(protocol.Event{}, err)
			return
		}
		defer resp.Body.Close()
		lines := bufio.NewReader(resp.Body)
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				if ctx.Err() == nil {
					yield(protocol.Event{}, followError(tool.Unavailable, "the kernel ended", err))
				}
				return
			}
			var e protocol.Event
			if err := json.Unmarshal(line, &e); err != nil {
				yield(protocol.Event{}, followError(tool.Internal, "the kernel sent a record that cannot be read", err))
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

func followError(kind tool.Kind, message string, err error) error {
	return &tool.Error{Op: "client.Follow", Kind: kind, Message: message, Err: err}
}

func queryValues(q protocol.JournalQuery) url.Values {
	v := url.Values{}
	set := func(name, value string, on bool) {
		if on {
			v.Set(name, value)
		}
	}
	set("after", strconv.FormatUint(q.After, 10), q.After > 0)
	set("before", strconv.FormatUint(q.Before, 10), q.Before > 0)
	set("call", q.Call, q.Call != "")
	set("kind", string(q.Kind), q.Kind != "")
	set("newest", "true", q.Newest)
	set("limit", strconv.Itoa(q.Limit), q.Limit > 0)
	return v
}
