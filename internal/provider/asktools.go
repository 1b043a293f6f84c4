package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"callgate/internal/provider/apiclient"
	"callgate/llm"
	"callgate/tool"
)

// AskTools asks a server whether it takes tools for a model: as its own API says, where there is one that does
// (Ollama, LM Studio), else by a small request that carries a tool, as those of a conversation do. An error
// means that the answer decides nothing: no connection, too late, no such model. It is not repeated; ctx bounds
// its time.
func (p *Pool) AskTools(ctx context.Context, cfg Config) (takes bool, err error) {
	r, err := resolve(cfg)
	if err != nil {
		return false, err
	}
	asked := &toolQuestion{resolved: r, client: p.client(r, cfg).http}
	var known bool
	switch r.Provider {
	case "ollama":
		takes, known, err = asked.ollama(ctx)
	case "lmstudio":
		takes, known, err = asked.lmstudio(ctx)
	}
	if known || err != nil {
		return takes, err
	}
	cfg.Retry = Retry{Attempts: 1}
	model, _, err := p.Open(cfg)
	if err != nil {
		return false, err
	}
	return askWithTool(ctx, model)
}

// askWithTool sends a request with a tool, in the form of those of a conversation.
func askWithTool(ctx context.Context, model llm.Model) (takes bool, err error) {
	const maxTokens = 16 // some servers refuse fewer
	_, err = model.Generate(ctx, llm.Request{
		MaxTokens: maxTokens,
		Messages:  []llm.Message{llm.TextMessage(llm.User, "Say ok.")},
		Tools: []llm.ToolDef{{
			Name: "now", Description: "Returns the time.", Schema: json.RawMessage(`{"type":"object","properties":{}}`),
		}},
	}, nil)
	var failure *llm.Error
	switch {
	case err == nil:
		return true, nil
	case !errors.As(err, &failure):
		return false, err
	case failure.Kind == llm.NoTools:
		return false, nil
	case failure.Kind == llm.FailedGeneration: // it reads calls: this one was cut off
		return true, nil
	}
	return false, err
}

// toolQuestion asks a server's own API.
type toolQuestion struct {
	*resolved
	client *http.Client
}

// ollama asks Ollama what a model can do. A server that does not tell, because it is older or is behind a proxy
// that shows no more than the chat completions, leaves it open.
func (q *toolQuestion) ollama(ctx context.Context) (takes, known bool, err error) {
	var shown struct{ Capabilities []string }
	told, err := q.get(ctx, http.MethodPost, "/api/show", map[string]string{"model": q.Model}, &shown)
	if !told || err != nil || shown.Capabilities == nil {
		return false, false, err
	}
	return slices.Contains(shown.Capabilities, "tools"), true, nil
}

// lmstudio asks LM Studio. It names what a model can do only where that is anything; a version that never
// does leaves it open.
func (q *toolQuestion) lmstudio(ctx context.Context) (takes, known bool, err error) {
	var list struct {
		Data []struct {
			ID           string
			Capabilities []string
		}
	}
	told, err := q.get(ctx, http.MethodGet, "/api/v0/models", nil, &list)
	if !told || err != nil {
		return false, false, err
	}
	var listed, tells bool
	for _, m := range list.Data {
		tells = tells || m.Capabilities != nil
		if m.ID == q.Model {
			listed, takes = true, slices.Contains(m.Capabilities, "tool_use")
		}
	}
	return takes, listed && tells, nil
}

// maxToolAnswer bounds what is read of an answer: Ollama sends licenses and templates with it.
const maxToolAnswer = 4 << 20

// get reads JSON from a path of the server, beside the chat completions. told is false for a server that has
// no such path.
func (q *toolQuestion) get(ctx context.Context, method, path string, body, into any) (told bool, err error) {
	u, err := url.Parse(q.BaseURL)
	if err != nil {
		return false, err
	}
	u.Path, u.RawPath = strings.TrimSuffix(u.Path, "/v1")+path, ""
	var sent io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return false, err
		}
		sent = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), sent)
	if err != nil {
		return false, err
	}
	req.Header = http.Header{
		"Accept": {"application/json"}, "Content-Type": {"application/json"}, "User-Agent": {"callgate"},
	}
	if q.key != "" {
		req.Header.Set("Authorization", "Bearer "+q.key)
	}
	for name, value := range q.headers {
		req.Header.Set(name, value)
	}
	client := *q.client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	res, err := client.Do(req)
	if err != nil {
		return false, apiclient.ErrorReader{Provider: q.Provider, Secrets: []string{q.key}}.Transport(ctx, err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return false, nil
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, maxToolAnswer+1))
	switch {
	case err != nil:
		return false, apiclient.ErrorReader{Provider: q.Provider, Secrets: []string{q.key}}.Transport(ctx, err)
	case len(data) > maxToolAnswer:
		return false, tool.Errorf("provider.AskTools", tool.Limited, "the answer of %s is too long", q.Provider)
	}
	return json.Unmarshal(data, into) == nil, nil
}
