package memory

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

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
    "tags": {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 64}, "maxItems": 20, "description": "Words that it belongs under."}
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

func upsertTool(d *service) definition {
	return definition{
		name: "upsert", short: "MemoryUpsert", doc: upsertDoc, input: upsertInput, output: upsertOutput,
		examples: []tool.Example{
			module.Example("by key, so that it can be replaced", `{"key": "deploy/command", "content": "Deploy with make ship from the branch stable", "tags": ["deploy"]}`),
			module.Example("without one", `{"content": "The user wants commit messages in English"}`),
		},
		aliases: []string{
			"choir.memory.upsert", "memory_upsert", "save_knowledge", "store_memory", "memory_store",
			"keep knowledge", "remember across sessions", "save for later", "long-term memory",
			"enregistrer une connaissance", "mémoriser durablement", "mémoire à long terme",
		},
		tags:    []string{"memory", "knowledge", "store", "long-term", "mémoire", "connaissance"},
		handler: handler(d, "upsert", upsert),
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

func upsert(_ context.Context, v *memoryCall, in upsertArgs) (*tool.Result, error) {
	next, err := v.entry(in)
	if err != nil {
		return nil, err
	}
	var data upsertData
	err = v.shelf.Change(v.knowledge(), func(d *memstore.Edit) error {
		e, outcome, grows := next, "created", len(next.Text)
		if old := findReplaced(d.Entries, next); old != nil {
			e = merged(old, next)
			if old.Text == e.Text && old.Key == e.Key && slices.Equal(old.Tags, e.Tags) {
				data = upsertData{old.ID, old.Key, old.Hash(), "unchanged", len(d.Entries)}
				return nil
			}
			outcome, grows = "replaced", grows-len(old.Text)
		}
		if e.ID == "" && len(d.Entries) >= maxKnowledge || grows > 0 && memstore.Weight(d.Entries)+grows > maxWeight {
			return tool.Errorf(v.op, tool.Limited, "the knowledge is full: it has %s, %d KiB", count(len(d.Entries), "entry", "entries"), memstore.Weight(d.Entries)>>10).
				WithHint("take out what is no longer needed with memory.forget, or tidy up with memory.compact")
		}
		put := d.Put(e)
		data = upsertData{put.ID, put.Key, put.Hash(), outcome, len(d.Entries)}
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
		return tool.OK(name+" holds just that already", data)
	}
	return tool.OK(fmt.Sprintf("%s %s; the knowledge has %s", data.Outcome, name, count(data.Entries, "entry", "entries")), data)
}

// entry is what a call wants kept.
func (v *memoryCall) entry(in upsertArgs) (e memstore.Entry, err error) {
	e.Kind = memstore.Knowledge
	if e.Text, err = v.cleanText("content", in.Content); err != nil {
		return e, err
	}
	before := v.redactedCount
	if e.Key, err = v.optional("key", in.Key); err != nil {
		return e, err
	}
	e.Key = strings.Join(strings.Fields(e.Key), " ")
	switch {
	case v.redactedCount > before:
		return e, tool.Errorf(v.op, tool.Invalid, "the key holds what looks like a secret").WithHint("call it by what it is for")
	case memstore.IsID(e.Key):
		return e, tool.Errorf(v.op, tool.Invalid, "the key %q looks like the id of an entry", e.Key).WithHint("choose a name that says what it is, such as deploy/command")
	}
	for _, t := range in.Tags {
		if t, err = v.optional("tag", t); err != nil {
			return e, err
		}
		if t != "" && !slices.Contains(e.Tags, t) {
			e.Tags = append(e.Tags, t)
		}
	}
	return e, nil
}

// findReplaced is the entry that a new one takes the place of, or nil: the one of
// its key, or one that says the same, unless both have keys.
func findReplaced(entries []*memstore.Entry, e memstore.Entry) *memstore.Entry {
	if i := slices.IndexFunc(entries, func(old *memstore.Entry) bool { return e.Key != "" && old.Key == e.Key }); i >= 0 {
		return entries[i]
	}
	text := plain(e.Text)
	for _, old := range entries {
		// Texts that differ more in length than by some space say something else.
		if max(len(old.Text)-len(e.Text), len(e.Text)-len(old.Text)) <= 64 && (e.Key == "" || old.Key == "") && plain(old.Text) == text {
			return old
		}
	}
	return nil
}

// merged is an entry that replaces another, and keeps of it what it does not
// say itself.
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
