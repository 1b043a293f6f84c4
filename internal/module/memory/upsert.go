package memory

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"callgate/internal/amount"
	"callgate/internal/module"
	"callgate/internal/module/memory/memstore"
	"callgate/tool"
)

//go:embed upsert.md
var upsertDoc string

const upsertInput = `{
  "type": "object",
  "properties": {
    "content": {"type": "string", "minLength": 1, "maxLength": 65536, "description": "What is to be known."},
    "key": {"type": "string", "maxLength": 200, "description": "A name for it, by which it is found and replaced."},
    "tags": {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 64}, "maxItems": 20,
      "description": "Words that it belongs under."}
  },
  "required": ["content"],
  "additionalProperties": false
}`

const upsertOutput = `{
  "type": "object",
  "properties": {
    "id": {"type": "string"},
    "key": {"type": "string"},
    "hash": {"type": "string", "description": "The content's hash, for query by hash."},
    "outcome": {"type": "string", "enum": ["created", "replaced", "unchanged"]},
    "entries": {"type": "integer", "description": "How many entries the knowledge has now."}
  },
  "required": ["id", "hash", "outcome", "entries"]
}`

func upsertTool(s *service) definition {
	return definition{
		name: "upsert", short: "MemoryUpsert", doc: upsertDoc, input: upsertInput, output: upsertOutput,
		examples: []tool.Example{
			module.Example("by key, so that it can be replaced",
				`{"key": "deploy/command", "content": "Deploy with make ship from the branch stable", "tags": ["deploy"]}`),
			module.Example("without one", `{"content": "The user wants commit messages in English"}`),
		},
		aliases: []string{
			"choir.memory.upsert", "memory_upsert", "save_knowledge", "store_memory", "memory_store",
			"keep knowledge", "remember across sessions", "save for later", "long-term memory",
			"enregistrer une connaissance", "mémoriser durablement", "mémoire à long terme",
		},
		tags:    []string{"memory", "knowledge", "store", "long-term", "mémoire", "connaissance"},
		handler: handler(s, "upsert", upsert),
	}
}

type upsertArgs struct {
	Content string   `json:"content"`
	Key     string   `json:"key"`
	Tags    []string `json:"tags"`
}

type upsertData struct {
	ID      string `json:"id"`
	Key     string `json:"key,omitempty"`
	Hash    string `json:"hash"`
	Outcome string `json:"outcome"`
	Entries int    `json:"entries"`
}

func upsert(ctx context.Context, c *memoryCall, in upsertArgs) (*tool.Result, error) {
	next, err := c.entry(in)
	if err != nil {
		return nil, err
	}
	var data upsertData
	err = c.store.Change(ctx, c.knowledge(), func(edit *memstore.Edit) error {
		e, outcome, grows := next, "created", len(next.Text)
		if old := findReplaced(edit.Entries, next); old != nil {
			e = merged(old, next)
			if old.Text == e.Text && old.Key == e.Key && slices.Equal(old.Tags, e.Tags) {
				data = upsertData{old.ID, old.Key, old.Hash(), "unchanged", len(edit.Entries)}
				return nil
			}
			outcome, grows = "replaced", grows-len(old.Text)
		}
		if e.ID == "" && len(edit.Entries) >= maxKnowledge || grows > 0 && memstore.Weight(edit.Entries)+grows > maxWeight {
			return tool.Errorf(c.op, tool.Limited, "the knowledge is full: it has %s, %d KiB",
				amount.Of(len(edit.Entries), "entry"), memstore.Weight(edit.Entries)>>10).
				WithHint("delete what is no longer needed with memory.forget, or clean up with memory.compact")
		}
		put := edit.Put(e)
		data = upsertData{put.ID, put.Key, put.Hash(), outcome, len(edit.Entries)}
		return nil
	})
	if err != nil {
		return nil, err
	}
	name := data.ID
	if data.Key != "" {
		name += " (" + oneLine(data.Key, 200) + ")"
	}
	if data.Outcome == "unchanged" {
		return module.InWords(name+" holds just that already", data)
	}
	entries := amount.Of(data.Entries, "entry")
	return module.InWords(fmt.Sprintf("%s %s; the knowledge has %s", data.Outcome, name, entries), data)
}

// entry returns the entry that a call wants to store.
func (c *memoryCall) entry(in upsertArgs) (e memstore.Entry, err error) {
	e.Kind = memstore.Knowledge
	if e.Text, err = c.cleanText("content", in.Content); err != nil {
		return e, err
	}
	before := c.redactedCount
	if e.Key, err = c.optional("key", in.Key); err != nil {
		return e, err
	}
	e.Key = strings.Join(strings.Fields(e.Key), " ")
	switch {
	case c.redactedCount > before:
		return e, tool.Errorf(c.op, tool.Invalid, "the key contains what looks like a secret").
			WithHint("name it by its purpose")
	case memstore.IsID(e.Key):
		return e, tool.Errorf(c.op, tool.Invalid, "the key %q looks like the id of an entry", e.Key).
			WithHint("choose a name that says what it is, such as deploy/command")
	}
	for _, t := range in.Tags {
		if t, err = c.optional("tag", t); err != nil {
			return e, err
		}
		if t != "" && !slices.Contains(e.Tags, t) {
			e.Tags = append(e.Tags, t)
		}
	}
	return e, nil
}

// findReplaced returns the entry that a new one replaces, or nil: the one with its
// key, or one with the same text, unless both have keys.
func findReplaced(entries []*memstore.Entry, e memstore.Entry) *memstore.Entry {
	sameKey := func(old *memstore.Entry) bool { return e.Key != "" && old.Key == e.Key }
	if i := slices.IndexFunc(entries, sameKey); i >= 0 {
		return entries[i]
	}
	text := canonical(e.Text)
	for _, old := range entries {
		if e.Key != "" && old.Key != "" {
			continue
		}
		// Texts whose lengths differ by more than some space are not compared: they differ.
		if max(len(old.Text)-len(e.Text), len(e.Text)-len(old.Text)) <= 64 && canonical(old.Text) == text {
			return old
		}
	}
	return nil
}

// merged returns an entry that replaces another, with the key and the tags of the
// other where it has none.
func merged(old *memstore.Entry, e memstore.Entry) memstore.Entry {
	e.ID = old.ID
	if e.Key == "" {
		e.Key = old.Key
	}
	if e.Tags == nil {
		e.Tags = old.Tags
	}
	return e
}
