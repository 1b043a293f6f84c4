package app

import (
	"strings"

	"callgate/internal/app/node"
)

// modelReader reads models, which the file calls brains, and how they are asked.
type modelReader struct {
	*node.Reader
	*scope
}

// lanes reads the models of an agent's two lanes.
func (m modelReader) lanes(e node.Entry) map[string]*Brain {
	lanes := map[string]*Brain{}
	lane := func(in node.Entry) {
		if in.Has("brain") {
			m.Mapping(levelLane, in, map[string]node.Read{
				"brain": func(b node.Entry) { lanes[in.Key] = m.read(b) },
			})
			return
		}
		lanes[in.Key] = m.read(in)
	}
	m.Mapping(levelLanes, e, map[string]node.Read{"edge": lane, "core": lane})
	if len(lanes) == 1 {
		m.Fail(e.At, "write edge: and core:, or leave lanes out and give the agent one brain", "%s has one lane", e.Name())
	}
	return lanes
}

// read reads a model and how it is asked.
func (m modelReader) read(e node.Entry) *Brain {
	b := &Brain{}
	m.Mapping(levelBrain, e, map[string]node.Read{
		"provider":    m.TextInto(&b.Provider),
		"provider_id": m.TextInto(&b.Provider),
		"model":       m.TextInto(&b.Model),
		"backend":     m.Choice(&b.Backend, "openai_compat", "anthropic", "github_copilot"),
		"config":      func(in node.Entry) { m.connection(in, b) },
		"credential":  func(in node.Entry) { b.Credential = m.credential(m.Reader, in) },
		"temperature": m.Decimal(&b.Temperature, 0, 2),
		"top_p":       m.Decimal(&b.TopP, 0, 1),
		"max_tokens": m.Number(&b.MaxTokens, 1, 10_000_000,
			"write how many tokens an answer may have, such as 4096"),
		"timeout": m.Seconds(&b.Timeout, 1, 86_400, "write how many seconds one answer may take, such as 120"),
		"native_tool_use": func(in node.Entry) {
			b.NativeTools = new(bool)
			m.Boolean(b.NativeTools, "write false for a model that takes no tools")(in)
		},
		"context":  func(in node.Entry) { b.Context = m.context(levelBrainContext, in, &b.Window) },
		"effort":   m.Choice(&b.Effort, "low", "medium", "high"),
		"fallback": func(in node.Entry) { b.Fallback = m.fallback(in) },
	})
	switch {
	case b.Provider == "":
		m.Fail(e.At, "write provider: openai, anthropic, deepseek, ollama … or offline",
			"%s names no provider", e.Name())
	case b.Provider != Offline && b.Model == "":
		m.Fail(e.At, "write model: and the name by which the provider knows it", "%s names no model", e.Name())
	}
	return b
}

// connection reads where a provider is, and its key. A key whose variable is
// not set is passed over where the model has a credential too.
func (m modelReader) connection(e node.Entry, to *Brain) {
	r := m.WithSecrets()
	r.Mapping(levelBrainConfig, e, map[string]node.Read{
		"base_url": func(in node.Entry) {
			url, ok := r.Text(in)
			if ok && !isWebAddress(url) {
				r.Fail(in.At, "it looks like https://host/v1",
					"%s is %s, which is no address of the web", in.Name(), node.Quote(url))
			}
			to.BaseURL = url
		},
		"api_key": func(in node.Entry) {
			if text, ok := in.Scalar(); ok && m.variables.Unset(text) {
				m.links.keys = append(m.links.keys, missingKey{r, in, to})
				return
			}
			to.Key, _ = r.Text(in)
			to.DataSent = append(to.DataSent, dataSent("a key", in))
		},
		"headers": func(in node.Entry) {
			to.Headers = map[string]string{}
			for _, h := range r.Entries(in, "write one header on each line, such as X-Team: search") {
				to.Headers[h.Key], _ = r.Text(h)
				to.DataSent = append(to.DataSent, dataSent("the header "+h.Key, h))
			}
		},
	})
}

func isWebAddress(url string) bool {
	return strings.HasPrefix(url, "http://") || strings.HasPrefix(url, "https://")
}

// dataSent says what is sent: references as they are written, and never a
// value.
func dataSent(what string, e node.Entry) string {
	if text, ok := e.Scalar(); ok && strings.Contains(text, "{{") {
		return what + " " + text
	}
	return what + " that stands in the file"
}

// context reads how a conversation is kept within its window, and the window.
func (m modelReader) context(level string, e node.Entry, window *int) Context {
	var c Context
	var trigger *float64
	m.Mapping(level, e, map[string]node.Read{
		"max_tokens": m.Number(window, 1000, 100_000_000,
			"write the size of the model's context in tokens, such as 128000"),
		"output_reserved": m.Number(&c.OutputReserved, 1, 10_000_000,
			"write how many tokens are kept free for the answer, such as 4096"),
		"strategy": m.Choice(&c.Strategy, "truncate", "summarize"),
		"keep_recent": m.Number(&c.KeepRecent, 1, 10_000,
			"write how many of the last messages stay as they are, such as 10"),
		"compression_trigger": m.Decimal(&trigger, 0.1, 1),
		"summary_max_tokens": m.Number(&c.SummaryMaxTokens, 100, 100_000,
			"write how many tokens a summary may have, such as 1024"),
		"auto_compact": func(in node.Entry) {
			c.Auto = new(bool)
			m.Boolean(c.Auto, "write false to have conversations shortened by hand only")(in)
		},
		"summary_brain": func(in node.Entry) { c.SummaryBrain = m.fallback(in) },
	})
	if trigger != nil {
		c.Trigger = *trigger
	}
	if *window > 0 && c.OutputReserved >= *window {
		m.Fail(m.Position(e.Below("output_reserved")), "reserve less, such as a quarter of it",
			"%s reserves %d of %d tokens for the answer, and leaves none to read", e.Name(), c.OutputReserved, *window)
	}
	m.summary(e, &c)
	return c
}

// summary checks the model that writes summaries against the strategy.
func (m modelReader) summary(e node.Entry, c *Context) {
	at := m.Position(e.Below("summary_brain"))
	switch {
	case c.SummaryBrain == nil:
	case c.SummaryBrain.Provider == Offline:
		m.Fail(at, "name a language model", "%s names the offline brain for summaries, which cannot write", e.Name())
	case c.Strategy == "truncate":
		m.Fail(at, "write strategy: summarize, or delete summary_brain",
			"%s names a brain for summaries, and wants none", e.Name())
	case c.Strategy == "":
		c.Strategy = "summarize"
	}
}

// fallback reads a model that is asked in the place of another. How the
// conversation is kept within the window is for the other one to say.
func (m modelReader) fallback(e node.Entry) *Brain {
	b := m.read(e)
	if b.Context != (Context{}) {
		m.Fail(m.Position(e.Below("context")),
			"keep only max_tokens here, and move the rest to the brain that it stands in for",
			"%s cannot say how conversations are shortened", e.Name())
	}
	return b
}
