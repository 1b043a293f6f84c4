package brain

import (
	"strings"

	"callgate/internal/app/credential"
	"callgate/internal/app/node"
	"callgate/internal/app/variable"
)

// The levels of the file.
const (
	Level        = "agents.brain"
	ConfigLevel  = "agents.brain.config"
	ContextLevel = "agents.brain.context"
	lanesLevel   = "agents.lanes"
	laneLevel    = "agents.lanes.<lane>"
)

// Reader reads models, and how they are asked.
type Reader struct {
	*node.Reader
	Variables *variable.Set
	AppID     string
	// Missing is told of a key whose variable is not set. Whether that matters is known
	// when the whole model is read.
	Missing func(r *node.Reader, e node.Entry, m *Model)
	// Sections reads what every model of the app is told anew with each turn; nil: the
	// key is not one of this level.
	Sections node.Read
}

// Lanes reads the models of an agent's two lanes.
func (r Reader) Lanes(e node.Entry) map[string]*Model {
	lanes := map[string]*Model{}
	lane := func(in node.Entry) {
		if in.Has("brain") {
			r.Mapping(laneLevel, in, map[string]node.Read{
				"brain": func(of node.Entry) { lanes[in.Key] = r.Read(of) },
			})
			return
		}
		lanes[in.Key] = r.Read(in)
	}
	r.Mapping(lanesLevel, e, map[string]node.Read{"edge": lane, "core": lane})
	if len(lanes) == 1 {
		r.Fail(e.At, "write edge: and core:, or leave lanes out and give the agent one brain", "%s has one lane", e.Name())
	}
	return lanes
}

// Read reads a model and how it is asked.
func (r Reader) Read(e node.Entry) *Model {
	m := &Model{}
	r.Mapping(Level, e, map[string]node.Read{
		"provider":    r.TextInto(&m.Provider),
		"provider_id": r.TextInto(&m.Provider),
		"model":       r.name(m),
		"backend":     r.Choice(&m.Backend, "openai_compat", "anthropic", "github_copilot"),
		"config":      func(in node.Entry) { r.connection(in, m) },
		"credential":  func(in node.Entry) { m.Credential = credential.Read(r.Reader, in, r.AppID) },
		"temperature": r.Decimal(&m.Temperature, 0, 2),
		"top_p":       r.Decimal(&m.TopP, 0, 1),
		"max_tokens": r.Number(&m.MaxTokens, 1, 10_000_000,
			"write how many tokens an answer may have, such as 4096"),
		"timeout": r.Seconds(&m.Timeout, 1, 86_400, "write how many seconds one answer may take, such as 120"),
		"patience": r.Seconds(&m.Patience, 1, 86_400,
			"write how many seconds a request waits for a provider that limits the rate or is busy, such as 600"),
		"max_concurrent": r.Number(&m.AtOnce, 1, 100,
			"write how many requests to this model may run at once, of all agents together, such as 8"),
		"native_tool_use": func(in node.Entry) {
			m.NativeTools = new(bool)
			r.Boolean(m.NativeTools, "write false for a model that takes no tools")(in)
		},
		"vision": func(in node.Entry) {
			m.Vision.Reads = new(bool)
			r.Boolean(m.Vision.Reads, "write false for a model that reads no pictures")(in)
		},
		"image_detail": func(in node.Entry) {
			r.Choice(&m.Vision.Detail, "auto", "low", "high")(in)
			m.Vision.Detail = strings.TrimPrefix(m.Vision.Detail, "auto")
		},
		"max_images_per_turn": r.Number(&m.Vision.Most, 1, 100,
			"write how many pictures of one turn the model is sent, such as 5"),
		"context":  func(in node.Entry) { m.Context = r.Context(ContextLevel, in, &m.Window) },
		"effort":   r.Choice(&m.Effort, "low", "medium", "high"),
		"fallback": func(in node.Entry) { m.Fallback = r.fallback(in) },
	})
	switch {
	case m.Provider == "":
		r.Fail(e.At, "write provider: openai, anthropic, deepseek, ollama … or offline",
			"%s names no provider", e.Name())
	case m.Provider != Offline && m.Name == "":
		r.Fail(e.At, "write model: and the name by which the provider knows it", "%s names no model", e.Name())
	}
	return m
}

// connection reads where a provider is, and its key. A key whose variable is
// not set is passed over where the model has a credential too.
func (r Reader) connection(e node.Entry, to *Model) {
	r.Reader = r.WithSecrets()
	r.Mapping(ConfigLevel, e, map[string]node.Read{
		"base_url": func(in node.Entry) {
			url, ok := r.Text(in)
			if ok && !isWebAddress(url) {
				r.Fail(in.At, "it looks like https://host/v1",
					"%s is %s, which is no address of the web", in.Name(), node.Quote(url))
			}
			to.BaseURL = url
		},
		"api_key": func(in node.Entry) {
			if text, ok := in.Scalar(); ok && r.Variables.Unset(text) {
				r.Missing(r.Reader, in, to)
				return
			}
			to.Key, _ = r.Text(in)
			text, _ := in.Scalar()
			to.KeyInFile = to.Key != "" && !strings.Contains(text, "{{")
			to.DataSent = append(to.DataSent, r.Variables.Sent("a key", in, to.Key))
		},
		"headers": func(in node.Entry) {
			to.Headers = map[string]string{}
			for _, h := range r.Entries(in, "write one header on each line, such as X-Team: search") {
				to.Headers[h.Key], _ = r.Text(h)
				to.DataSent = append(to.DataSent, r.Variables.Sent("the header "+h.Key, h, to.Headers[h.Key]))
			}
		},
	})
}

func isWebAddress(url string) bool {
	return strings.HasPrefix(url, "http://") || strings.HasPrefix(url, "https://")
}

// name reads the name of a model. The provider is sent it, so one with a variable in
// it is something that the app sends.
func (r Reader) name(to *Model) node.Read {
	return func(e node.Entry) {
		mark := r.Variables.Mark()
		to.Name, _ = r.Text(e)
		if len(r.Variables.Since(mark)) > 0 {
			to.DataSent = append(to.DataSent, r.Variables.Sent("the model's name", e, to.Name))
		}
	}
}

// Context reads how a conversation is kept within its window, and the window.
func (r Reader) Context(level string, e node.Entry, window *int) Context {
	var c Context
	var trigger *float64
	keys := map[string]node.Read{
		"max_tokens": r.window(window),
		"output_reserved": r.Number(&c.OutputReserved, 1, 10_000_000,
			"write how many tokens are kept free for the answer, such as 4096"),
		"strategy": r.Choice(&c.Strategy, "truncate", "summarize"),
		"keep_recent": r.Number(&c.KeepRecent, 1, 10_000,
			"write how many of the last messages stay as they are, such as 10"),
		"compression_trigger": r.Decimal(&trigger, 0.1, 1),
		"summary_max_tokens": r.Number(&c.SummaryMaxTokens, 100, 100_000,
			"write how many tokens a summary may have, such as 1024"),
		"auto_compact": func(in node.Entry) {
			c.Auto = new(bool)
			r.Boolean(c.Auto, "write false to have conversations shortened by hand only")(in)
		},
		"summary_brain": func(in node.Entry) { c.SummaryModel = r.fallback(in) },
		"remember_facts": func(in node.Entry) {
			c.RememberFacts = new(bool)
			r.Boolean(c.RememberFacts, "write true to have the facts of what is summarized remembered")(in)
		},
	}
	if r.Sections != nil {
		keys["sections"], r.Sections = r.Sections, nil // the brains in it have none
	}
	r.Mapping(level, e, keys)
	if trigger != nil {
		c.Trigger = *trigger
	}
	if *window > 0 && c.OutputReserved >= *window {
		r.Fail(r.Position(e.Below("output_reserved")), "reserve less, such as a quarter of it",
			"%s reserves %d of %d tokens for the answer, and leaves none to read", e.Name(), c.OutputReserved, *window)
	}
	r.summary(e, &c)
	return c
}

// window reads the size of a model's context; 0 is as the model is known to have.
func (r Reader) window(to *int) node.Read {
	read := r.Number(to, 1000, 100_000_000,
		"write the size of the model's context in tokens, such as 128000, or 0: as the model is known to have")
	return func(e node.Entry) {
		if text, _ := e.Scalar(); text != "0" {
			read(e)
		}
	}
}

// summary checks the model that writes summaries against the strategy.
func (r Reader) summary(e node.Entry, c *Context) {
	if c.RememberFacts != nil && *c.RememberFacts && c.Strategy == "truncate" {
		r.Fail(r.Position(e.Below("remember_facts")), "write strategy: summarize, or delete remember_facts",
			"%s wants facts of summaries, and no summaries", e.Name())
	}
	at := r.Position(e.Below("summary_brain"))
	switch {
	case c.SummaryModel == nil:
	case c.SummaryModel.Provider == Offline:
		r.Fail(at, "name a language model", "%s names the offline brain for summaries, which cannot write", e.Name())
	case c.Strategy == "truncate":
		r.Fail(at, "write strategy: summarize, or delete summary_brain",
			"%s names a brain for summaries, and wants none", e.Name())
	case c.Strategy == "":
		c.Strategy = "summarize"
	}
}

// fallback reads a model that is asked in the place of another. How the
// conversation is kept within the window is for the other one to say.
func (r Reader) fallback(e node.Entry) *Model {
	m := r.Read(e)
	if m.Context != (Context{}) {
		r.Fail(r.Position(e.Below("context")),
			"keep only max_tokens here, and move the rest to the brain that it stands in for",
			"%s cannot say how conversations are shortened", e.Name())
	}
	return m
}
