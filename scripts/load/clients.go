//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// clients talk to a kernel.
type clients struct {
	url, token, folder string

	mu     sync.Mutex
	times  map[string]*times
	told   []string       // calls that a client was told of
	tried  map[string]int // what each client sent last to be written
	writes map[string]int // and what it was told is written
	failed []string
}

// times are how long requests of one kind took.
type times struct{ all []time.Duration }

// talk has so many conversations go on for a while.
func (c *clients) talk(ctx context.Context, n int, span time.Duration) error {
	c.tried, c.writes = map[string]int{}, map[string]int{}
	ctx, stop := context.WithTimeout(ctx, span)
	defer stop()
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { c.one(ctx, i) })
	}
	all.Wait()
	if len(c.told) == 0 {
		return fmt.Errorf("no call was made: %v", c.failed)
	}
	return nil
}

// length is how many things a client does in one conversation, before it closes it and opens another.
const length = 20

// one is a client: what it does next is chosen at random.
func (c *clients) one(ctx context.Context, number int) {
	dice := rand.New(rand.NewPCG(uint64(number), 7))
	conversation := ""
	for turn := 1; ctx.Err() == nil; turn++ {
		if conversation == "" || turn%length == 0 {
			var err error
			if conversation, err = c.open(ctx, conversation); err != nil {
				c.fail(ctx, err)
				return
			}
		}
		var err error
		switch n := dice.IntN(10); {
		case n < 3:
			err = c.say(ctx, conversation, "filesystem.read path=hello.txt")
		case n < 6:
			err = c.call(ctx, "read", "filesystem.read", map[string]any{"path": "hello.txt"})
		case n < 8:
			err = c.write(ctx, number, turn)
		case n < 9:
			err = c.send(ctx, "search", "POST", "/v1/tools/search", map[string]any{"queries": []string{"lire un fichier"}}, nil)
		default:
			err = c.send(ctx, "the journal", "GET", "/v1/journal?newest=true&limit=50", nil, nil)
		}
		if err != nil {
			c.fail(ctx, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(dice.IntN(2000)) * time.Millisecond): // a person thinks
		}
	}
}

// open opens a conversation, and closes the one before.
func (c *clients) open(ctx context.Context, before string) (string, error) {
	if before != "" {
		if err := c.send(ctx, "close a conversation", "DELETE", "/v1/sessions/"+before, nil, nil); err != nil {
			return "", err
		}
	}
	var opened struct {
		ID string `json:"id"`
	}
	err := c.send(ctx, "open a conversation", "POST", "/v1/conversations", map[string]any{}, &opened)
	return opened.ID, err
}

// fail keeps what went wrong before the time was over.
func (c *clients) fail(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.failed) < 20 {
		c.failed = append(c.failed, err.Error())
	}
}

// write writes the number of the turn into the client's own file.
func (c *clients) write(ctx context.Context, number, turn int) error {
	name := fmt.Sprintf("client-%d.txt", number)
	c.mu.Lock()
	c.tried[name] = turn
	c.mu.Unlock()
	err := c.call(ctx, "write", "filesystem.write", map[string]any{"path": name, "content": fmt.Sprint(turn)})
	if err == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.writes[name] = turn
	}
	return err
}

// call makes a call, and keeps that the client was told of it.
func (c *clients) call(ctx context.Context, kind, tool string, args map[string]any) error {
	var result struct {
		Call    string `json:"call"`
		Status  string `json:"status"`
		Summary string `json:"summary"`
	}
	if err := c.send(ctx, kind, "POST", "/v1/tools/"+tool+"/call", map[string]any{"args": args}, &result); err != nil {
		return err
	}
	if result.Status != "success" {
		return fmt.Errorf("%s: %s %s", tool, result.Status, result.Summary)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told = append(c.told, result.Call)
	return nil
}

// say has a turn run, and reads its stream to the end.
func (c *clients) say(ctx context.Context, conversation, text string) error {
	began := time.Now()
	answer, err := c.request(ctx, "POST", "/v1/conversations/"+conversation+"/messages", map[string]any{"text": text})
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, answer.Body)
	c.took("a turn", time.Since(began))
	return err
}

func (c *clients) request(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var data io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		data = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, method, c.url+path, data)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+c.token)
	answer, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode >= http.StatusMultipleChoices {
		defer answer.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 1000))
		return nil, fmt.Errorf("%s %s: %d %s", method, path, answer.StatusCode, text)
	}
	return answer, nil
}

var client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1000}}

// send sends a request and reads its answer.
func (c *clients) send(ctx context.Context, kind, method, path string, body, into any) error {
	began := time.Now()
	answer, err := c.request(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	c.took(kind, time.Since(began))
	if into == nil {
		return nil
	}
	return json.Unmarshal(text, into)
}

func (c *clients) took(kind string, d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.times[kind] == nil {
		c.times[kind] = &times{}
	}
	c.times[kind].all = append(c.times[kind].all, d)
}

// print says how long the requests took.
func (c *clients) print() {
	fmt.Printf("%-20s %9s %10s %10s %10s\n", "", "requests", "median", "p99", "longest")
	for _, kind := range []string{
		"open a conversation", "close a conversation", "a turn", "read", "write", "search", "the journal",
	} {
		t := c.times[kind]
		if t == nil {
			continue
		}
		slices.Sort(t.all)
		at := func(share float64) time.Duration { return t.all[int(share*float64(len(t.all)-1))] }
		fmt.Printf("%-20s %9d %10v %10v %10v\n", kind, len(t.all), round(at(0.5)), round(at(0.99)), round(at(1)))
	}
}

func round(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }

// judge says what does not hold.
func (c *clients) judge(ctx context.Context) (problems []string) {
	problems = append(problems, c.failed...)
	ends, turns, err := c.journal(ctx)
	if err != nil {
		return append(problems, err.Error())
	}
	lost := 0
	for _, id := range c.told {
		if !ends[id] {
			lost++
		}
	}
	if lost > 0 {
		problems = append(problems, fmt.Sprintf("%d calls that a client was told of are not on record", lost))
	}
	for name, turn := range c.writes {
		text, err := os.ReadFile(filepath.Join(c.folder, name))
		if found := string(text); err != nil || found != fmt.Sprint(turn) && found != fmt.Sprint(c.tried[name]) {
			problems = append(problems, fmt.Sprintf("%s holds %q, and %d was written last: %v", name, text, turn, err))
		}
	}
	var report struct {
		Records  uint64 `json:"records"`
		Problems []any  `json:"problems"`
	}
	if err := c.send(ctx, "verify", "GET", "/v1/journal/verify", nil, &report); err != nil {
		problems = append(problems, err.Error())
	}
	if len(report.Problems) > 0 {
		problems = append(problems, fmt.Sprintf("the journal does not verify: %v", report.Problems))
	}
	fmt.Printf("%d calls of clients and %d of agents are on record, of %d records, which verify\n",
		len(c.told)-lost, turns, report.Records)
	return problems
}

// journal reads which calls have an end on record, and how many of them agents made.
func (c *clients) journal(ctx context.Context) (ends map[string]bool, ofAgents int, err error) {
	ends = map[string]bool{}
	for after := uint64(0); ; {
		var page []struct {
			Seq       uint64 `json:"seq"`
			Kind      string `json:"kind"`
			Call      string `json:"call"`
			Principal struct {
				Agent string `json:"agent"`
			} `json:"principal"`
		}
		path := fmt.Sprintf("/v1/journal?kind=ended&after=%d&limit=5000", after)
		if err := c.send(ctx, "pages of the journal", "GET", path, nil, &page); err != nil {
			return nil, 0, err
		}
		for _, r := range page {
			ends[r.Call] = true
			if r.Principal.Agent != "" {
				ofAgents++
			}
			after = r.Seq
		}
		if len(page) < 5000 {
			return ends, ofAgents, nil
		}
	}
}
