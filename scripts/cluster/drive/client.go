//go:build linux

// Package drive has clients call a cluster while it is hindered.
package drive

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"callgate/scripts/cluster/judge"
	"callgate/scripts/cluster/world"
	"callgate/tool"
)

// Clients make calls at any node, each under a name of its own, and send it again, at another, until it is answered.
type Clients struct {
	Nodes    []*world.Node
	Token    string
	Run      string        // tells the names of one run from those of another
	Accounts int           // that the clients share; 0: each has its own
	Work     time.Duration // the longest that a call works
	Patience time.Duration // how long a call is sent again
	Client   *http.Client

	mu       sync.Mutex
	outcomes []judge.Outcome
}

// Outcomes returns the calls that have come to an end.
func (c *Clients) Outcomes() []judge.Outcome {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]judge.Outcome(nil), c.outcomes...)
}

// Call makes calls, one after the other, until ctx ends. The one under way is followed to its end.
func (c *Clients) Call(ctx context.Context, number int, seed uint64) {
	random := rand.New(rand.NewPCG(seed, uint64(number)))
	for i := 0; ctx.Err() == nil; i++ {
		account := number
		if c.Accounts > 0 {
			account = random.IntN(c.Accounts)
		}
		o := judge.Outcome{
			Key: fmt.Sprintf("%s-%d-%d", c.Run, number, i), Account: fmt.Sprintf("account%d", account), Sent: time.Now(),
		}
		work := time.Duration(random.Int64N(int64(c.Work) + 1))
		c.follow(context.WithoutCancel(ctx), &o, work, random)
		c.mu.Lock()
		c.outcomes = append(c.outcomes, o)
		c.mu.Unlock()
	}
}

// follow sends a call until it is answered.
func (c *Clients) follow(ctx context.Context, o *judge.Outcome, work time.Duration, random *rand.Rand) {
	ctx, cancel := context.WithTimeout(ctx, c.Patience)
	defer cancel()
	for o.Verdict = judge.NoAnswer; ctx.Err() == nil; {
		o.Tries++
		node := c.Nodes[random.IntN(len(c.Nodes))]
		result, err := c.send(ctx, node, o, work)
		o.Answered = time.Now()
		if err == nil {
			o.Verdict, o.Value, o.Last = verdict(result)
			return
		}
		o.Last = node.Name + ": " + err.Error()
		select {
		case <-time.After(time.Duration(20+random.IntN(200)) * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// send sends a call to a node once. An error is no answer to the call.
func (c *Clients) send(
	ctx context.Context, node *world.Node, o *judge.Outcome, work time.Duration,
) (*tool.Result, error) {
	body, err := json.Marshal(map[string]any{
		"args": map[string]any{"account": o.Account, "key": o.Key, "work_ms": work.Milliseconds()},
	})
	if err != nil {
		return nil, err
	}
	at := node.URL() + "/v1/tools/account.add/call"
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, at, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+c.Token)
	r.Header.Set("Idempotency-Key", o.Key)
	r.Header.Set("Content-Type", "application/json")
	answer, err := c.Client.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	if err != nil {
		return nil, err
	}
	var result tool.Result
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", answer.Status, tool.Truncate(string(text)))
	}
	if err := json.Unmarshal(text, &result); err != nil {
		return nil, err
	}
	return &result, nil
}

// verdict is what a result says of its call.
func verdict(r *tool.Result) (v judge.Verdict, value int, words string) {
	if r.Status == tool.Success && json.Unmarshal(r.Data, &value) == nil {
		return judge.Done, value, r.Summary
	}
	if r.Error == nil {
		return judge.InDoubt, 0, string(r.Status) + ": " + r.Summary
	}
	switch r.Error.Kind {
	case tool.Denied, tool.Invalid, tool.NotFound, tool.Unavailable, tool.Conflict:
		return judge.NotDone, 0, r.Error.Error()
	}
	return judge.InDoubt, 0, r.Error.Error()
}
