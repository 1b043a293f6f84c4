//go:build linux

package drive

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"callgate/scripts/soak/child"
	"callgate/scripts/soak/history"
)

// inbox is an app of a group that nobody talks to: a webhook starts its turns.
type inbox struct {
	dir     string
	address string // where it listens
}

// newInbox writes the app.
func (g *group) newInbox() (*inbox, error) {
	in := &inbox{dir: filepath.Join(g.dir, "inbox")}
	if err := os.MkdirAll(in.dir, 0o700); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0") // a port that each kernel can have again
	if err != nil {
		return nil, err
	}
	in.address = l.Addr().String()
	if err := l.Close(); err != nil {
		return nil, err
	}
	app := fmt.Sprintf(`app: {app_id: inbox}
agents: [{id: main, brain: {provider: openai, model: soak, config: {api_key: x, base_url: "http://%s/v1"}}}]
runtime:
  mode: background
  sandbox: relaxed
  tool_injection: direct
  triggers:
    mail: {type: webhook, path: /mail, auth: none, listen: %q, prompt: "Do what it says.", max_attempts: 20}
tools:
  capabilities: {default_policy: auto}
  modules:
    mcp:
      config:
        servers:
          soak: {command: %q, args: [server, %q, %q], isolation: contained}
`, g.model, in.address, g.Self, g.work, g.ledger)
	return in, os.WriteFile(filepath.Join(in.dir, "callgate.yaml"), []byte(app), 0o600)
}

// sender sends messages to the inbox of a group.
type sender struct{ *group }

// posts sends messages to the inbox, and some of them twice: as whoever sends them does
// that has not heard an answer.
func (g sender) posts(ctx context.Context, rng *rand.Rand) {
	for ctx.Err() == nil {
		op := g.newOp(history.Append, "", "a webhook", "inbox")
		plan := child.Plan{ID: fmt.Sprintf("P%03d_%d", g.number, g.last.Add(1)), Calls: []child.PlanCall{
			{Tool: "mcp_soak__append", Args: appendArgs(op.ID, rng)}}}
		told, text := g.post(op.ID, plan)
		if told != history.Promised || rng.IntN(4) == 0 {
			if again, words := g.post(op.ID, plan); again == history.Promised {
				told, text = again, words
			}
		}
		g.answered(op, told, text)
		wait(ctx, time.Duration(rng.IntN(200))*time.Millisecond)
	}
}

// post sends one message, and returns what its sender was told.
func (g sender) post(id string, plan child.Plan) (history.Told, string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+g.lasting.inbox.address+"/mail",
		strings.NewReader(plan.Prompt()))
	if err != nil {
		return history.NotBegun, err.Error()
	}
	r.Header.Set("Content-Type", "text/plain")
	r.Header.Set("webhook-id", id)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return history.Gone, err.Error() // the kernel may have stored it
	}
	defer answer.Body.Close()
	switch {
	case answer.StatusCode == http.StatusAccepted:
		return history.Promised, answer.Status
	case answer.StatusCode < 500:
		return history.NotBegun, answer.Status
	}
	return history.Gone, answer.Status
}
