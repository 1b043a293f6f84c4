package memory

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"callgate/internal/amount"
	"callgate/internal/module"
	"callgate/internal/module/memory/memstore"
	"callgate/tool"
)

//go:embed forget.md
var forgetDoc string

const forgetInput = `{
  "type": "object",
  "properties": {
    "refs": {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 400}, "minItems": 1, "maxItems": 100,
      "description": "What to forget: goal, t2, f7, k3, a key of the knowledge, or SESSION/f7."}
  },
  "required": ["refs"],
  "additionalProperties": false
}`

const forgetOutput = `{
  "type": "object",
  "properties": {
    "forgotten": {"type": "array", "items": {"type": "object", "properties": {
      "ref": {"type": "string"}, "text": {"type": "string", "description": "How it began."}
    }, "required": ["ref", "text"]}},
    "missing": {"type": "array", "items": {"type": "string"}, "description": "Refs that name nothing."}
  },
  "required": ["forgotten"]
}`

func forgetTool(s *service) definition {
	return definition{
		name: "forget", short: "MemoryForget", doc: forgetDoc, input: forgetInput, output: forgetOutput,
		examples: []tool.Example{
			module.Example("a fact that was wrong, and an entry of the knowledge", `{"refs": ["f3", "deploy/command"]}`),
		},
		aliases: []string{
			"memory_forget", "delete_memory", "remove_memory", "memory_delete",
			"forget a fact", "delete from memory", "remove a note", "remove a task",
			"oublier", "supprimer de la mémoire", "effacer une note",
		},
		tags:    []string{"memory", "forget", "delete", "mémoire", "oublier", "effacer"},
		handler: handler(s, "forget", forget),
	}
}

type forgetData struct {
	Forgotten []forgotten `json:"forgotten"`
	Missing   []string    `json:"missing,omitempty"`
}

type forgotten struct {
	Ref  string `json:"ref"`
	Text string `json:"text"`
}

func forget(ctx context.Context, c *memoryCall, in struct{ Refs []string }) (*tool.Result, error) {
	erased, err := c.erase(ctx, in.Refs)
	if err != nil {
		return nil, err
	}
	data := forgetData{Forgotten: []forgotten{}}
	for _, ref := range in.Refs {
		if e := erased[ref]; e != nil {
			data.Forgotten = append(data.Forgotten, forgotten{ref, cut(e.Text, 200)})
		} else {
			data.Missing = append(data.Missing, ref)
		}
	}
	if len(data.Forgotten) == 0 {
		missing := tool.Truncate(strings.Join(data.Missing, ", "))
		return nil, tool.Errorf(c.op, tool.NotFound, "nothing is remembered as %s", missing).
			WithHint("find it with memory.query, and use the ref of the result")
	}
	summary := "forgot " + amount.Of(len(data.Forgotten), "thing")
	if len(data.Forgotten) == 1 {
		summary = fmt.Sprintf("forgot %s: %s", data.Forgotten[0].Ref, oneLine(data.Forgotten[0].Text, 100))
	}
	if len(data.Missing) > 0 {
		summary += "; not there: " + oneLine(strings.Join(data.Missing, ", "), 200)
	}
	return tool.OK(summary, data)
}

// erase deletes the entries that refs name, and returns them by ref. It looks for
// each in this session, then in the knowledge, then in the session that it names.
func (c *memoryCall) erase(ctx context.Context, refs []string) (map[string]*memstore.Entry, error) {
	erased := map[string]*memstore.Entry{}
	names := map[string]string{} // the ref of each name
	for _, ref := range refs {
		names[strings.TrimSpace(ref)] = ref
	}
	if err := c.eraseIn(ctx, c.session(), names, erased); err != nil {
		return nil, err
	}
	if err := c.eraseIn(ctx, c.knowledge(), names, erased); err != nil {
		return nil, err
	}
	others := map[string]map[string]string{} // names by session
	for name, ref := range names {
		if i := strings.LastIndexByte(name, '/'); i >= 0 && erased[ref] == nil {
			if others[name[:i]] == nil {
				others[name[:i]] = map[string]string{}
			}
			others[name[:i]][name[i+1:]] = ref
		}
	}
	for session, names := range others {
		other := c.session()
		other.Session = session
		if ref, ok := names[wholeSession]; ok {
			if err := c.eraseSession(ctx, other, ref, erased); err != nil {
				return nil, err
			}
			continue
		}
		if err := c.eraseIn(ctx, other, names, erased); err != nil {
			return nil, err
		}
	}
	return erased, nil
}

// eraseSession deletes all that another session is remembered by.
func (c *memoryCall) eraseSession(
	ctx context.Context, key memstore.Key, ref string, erased map[string]*memstore.Entry,
) error {
	entries, err := c.store.Read(ctx, key)
	if err != nil || len(entries) == 0 {
		return err
	}
	erased[ref] = summaryOf(entries)[0]
	return c.store.Delete(ctx, key)
}

// eraseIn deletes the entries of a collection whose ID or key is in names, unless
// their ref was erased before. The values of names are refs.
func (c *memoryCall) eraseIn(
	ctx context.Context, key memstore.Key, names map[string]string, erased map[string]*memstore.Entry,
) error {
	found := map[string]*memstore.Entry{}
	err := c.store.Change(ctx, key, func(edit *memstore.Edit) error {
		clear(found)
		for _, e := range slices.Clone(edit.Entries) {
			ref, ok := names[e.ID]
			if !ok && e.Key != "" {
				ref, ok = names[e.Key]
			}
			if ok && erased[ref] == nil {
				found[ref] = e
				edit.Drop(e.ID)
			}
		}
		return nil
	})
	if err == nil {
		maps.Copy(erased, found)
	}
	return err
}
