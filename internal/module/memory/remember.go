package memory

import (
	"context"
	_ "embed"
	"fmt"

	"callgate/internal/amount"
	"callgate/internal/module"
	"callgate/internal/module/memory/memstore"
	"callgate/tool"
)

//go:embed remember.md
var rememberDoc string

const rememberInput = `{
  "type": "object",
  "properties": {
    "content": {"type": "string", "minLength": 1, "maxLength": 4000, "description": "The fact, complete in itself."}
  },
  "required": ["content"],
  "additionalProperties": false
}`

const rememberOutput = `{
  "type": "object",
  "properties": {
    "id": {"type": "string", "description": "The fact's id, for forget."},
    "facts": {"type": "integer", "description": "How many facts the session keeps now."},
    "known": {"type": "boolean", "description": "Whether it was kept already."},
    "dropped": {"type": "array", "items": {"type": "string"}, "description": "The oldest facts, which went to make room."}
  },
  "required": ["id", "facts", "known"]
}`

func rememberTool(s *service) definition {
	return definition{
		name: "remember", short: "Remember", doc: rememberDoc, input: rememberInput, output: rememberOutput,
		examples: []tool.Example{
			module.Example("something found out",
				`{"content": "Integration tests need Postgres on port 5433; start it with make db"}`),
		},
		aliases: []string{
			"save_memory", "add_memory", "memorize", "note", "store_fact",
			"remember a fact", "keep in mind", "take a note", "do not forget",
			"se souvenir", "retenir un fait", "mémoriser", "prendre note",
		},
		tags:    []string{"memory", "fact", "note", "remember", "mémoire", "fait", "retenir"},
		handler: handler(s, "remember", remember),
	}
}

type rememberData struct {
	ID      string   `json:"id"`
	Facts   int      `json:"facts"`
	Known   bool     `json:"known"`
	Dropped []string `json:"dropped,omitempty"`
}

func remember(ctx context.Context, c *memoryCall, in struct{ Content string }) (*tool.Result, error) {
	text, err := c.cleanText("fact", in.Content)
	if err != nil {
		return nil, err
	}
	var data rememberData
	err = c.store.Change(ctx, c.session(), func(edit *memstore.Edit) error {
		data = rememberData{}
		fact := memstore.Entry{Kind: memstore.Fact, Text: text}
		facts := memstore.Of(edit.Entries, memstore.Fact)
		for i, f := range facts {
			if !same(f.Text, text) {
				continue
			}
			data = rememberData{ID: f.ID, Facts: len(facts), Known: true}
			if i == len(facts)-1 && f.Text == text {
				return nil
			}
			fact.ID = f.ID // a repeated fact becomes the newest
		}
		data.ID = edit.Put(fact).ID
		facts = memstore.Of(edit.Entries, memstore.Fact)
		for _, f := range facts[:max(0, len(facts)-c.settings.MaxFacts)] {
			edit.Drop(f.ID)
			data.Dropped = append(data.Dropped, cut(f.Text, 500))
		}
		data.Facts = len(facts) - len(data.Dropped)
		return nil
	})
	if err != nil {
		return nil, err
	}
	switch {
	case data.Known:
		return module.InWords("already kept as "+data.ID, data)
	case len(data.Dropped) > 0:
		facts := amount.Of(data.Facts, "fact")
		r, err := tool.OK(fmt.Sprintf("kept as %s; the session keeps %s, so the oldest went", data.ID, facts), data)
		if err == nil {
			r.Warnings = append(r.Warnings,
				"gone to make room: "+oneLine(data.Dropped[0], 200)+"; what should last belongs in memory.upsert")
		}
		return r, err
	default:
		return module.InWords("kept as "+data.ID, data)
	}
}
