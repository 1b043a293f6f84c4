package effects

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"callgate/tool"
)

// Environment variables that a node is given.
const (
	ServerVariable = "CLUSTER_EFFECTS" // where the ledger is
	nodeVariable   = "CALLGATE_NODE"
)

type addition struct {
	Account string `json:"account" jsonschema:"the account that is written"`
	Key     string `json:"key" jsonschema:"what the client calls this call"`
	Work    int    `json:"work_ms" jsonschema:"milliseconds between reading and writing"`
}

// Tool is account.add, which reads an account, works, and writes it.
func Tool() (*tool.Tool, error) {
	add := &adder{server: os.Getenv(ServerVariable), node: os.Getenv(nodeVariable)}
	t, err := tool.Func("account.add", "Adds one to an account.", tool.Runtime{
		Risk: tool.Low, SideEffect: tool.External, Network: true, Timeout: time.Minute,
		Effects: []tool.Effect{{Resource: "account:{account}", Mode: tool.X}},
	}, func(context.Context, addition) (int, error) { return 0, nil })
	if err != nil {
		return nil, err
	}
	t.Handler = add
	return t, nil
}

type adder struct {
	server, node string
	client       http.Client
}

// Execute implements [tool.Handler].
func (a *adder) Execute(ctx context.Context, call tool.Call, grant tool.Grant) (*tool.Result, error) {
	var in addition
	if err := json.Unmarshal(call.Args, &in); err != nil {
		return nil, err
	}
	w := Write{Account: in.Account, Call: call.ID, Key: in.Key, Node: a.node, Fence: grant.Fence}
	value, err := a.send(ctx, http.MethodPut, w)
	if err != nil {
		return nil, err
	}
	select {
	case <-time.After(time.Duration(in.Work) * time.Millisecond):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	w.Value = value + 1
	switch _, err := a.send(ctx, http.MethodPost, w); {
	case errors.Is(err, errRefused):
		return nil, err
	case err != nil:
		return nil, tool.Errorf("account.add", tool.InDoubt, "the account's server did not answer: %w", err)
	}
	return tool.OK(fmt.Sprintf("%s is %d", in.Account, w.Value), w.Value)
}

var errRefused = errors.New("the account was given to another since")

func (a *adder) send(ctx context.Context, method string, w Write) (value int, err error) {
	body, err := json.Marshal(w)
	if err != nil {
		return 0, err
	}
	r, err := http.NewRequestWithContext(ctx, method, a.server, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	answer, err := a.client.Do(r)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusConflict {
		return 0, errRefused
	}
	if answer.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("the account's server answers %s", answer.Status)
	}
	return value, json.NewDecoder(answer.Body).Decode(&value)
}
