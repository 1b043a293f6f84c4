package memory

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"callgate/internal/module"
	"callgate/internal/module/memory/memstore"
	"callgate/tool"
)

//go:embed forget.md
var forgetDoc string

const forgetInput = `{
  "type": "object",
  "properties": {
    "refs": {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 400}, "minItems": 1, "maxItems": 100, "description": "What to forget: goal, t2, f7, k3, a key of the knowledge, or SESSION/f7."}
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

func forgetTool(d *service) definition {
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
		handler: handler(d, "forget", forget),
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

func forget(_ context.Context, v *memoryCall, in struct{ Refs []string }) (*tool.Result, error) {
	gone, err := v.erase(in.Refs)
	if err != nil {
		return nil, err
	}
	data := forgetData{Forgotten: []forgotten{}}
	for _, ref := range in.Refs {
		if e := gone[ref]; e != nil {
			data.Forgotten = append(data.Forgotten, forgotten{ref, cut(e.Text, 200)})
		} else {
			data.Missing = append(data.Missing, ref)
		}
	}
	if len(data.Forgotten) == 0 {
		return nil, tool.Errorf(v.op, tool.NotFound, "nothing is remembered as %s", tool.Truncate(strings.Join(data.Missing, ", "))).
			WithHint("find it with memory.query, and use the ref of the result")
	}
	summary := "forgot " + count(len(data.Forgotten), "thing", "things")
	if len(data.Forgotten) == 1 {
		summary = fmt.Sprintf("forgot %s: %s", data.Forgotten[0].Ref, oneLine(data.Forgotten[0].Text, 100))
	}
	if len(data.Missing) > 0 {
		summary += "; not there: " + oneLine(strings.Join(data.Missing, ", "), 200)
	}
	return tool.OK(summary, data)
}

// erase takes out what refs name, and returns it by ref. Each is looked for in
// this session, then in the knowledge, then in the session that it names.
func (v *memoryCall) erase(refs []string) (map[string]*memstore.Entry, error) {
	gone := map[string]*memstore.Entry{}
	own := map[string]string{}
	for _, ref := range refs {
		own[strings.TrimSpace(ref)] = ref
	}
	if err := v.eraseIn(v.session(), own, gone); err != nil {
		return nil, err
	}
	if err := v.eraseIn(v.knowledge(), own, gone); err != nil {
		return nil, err
	}
	others := map[string]map[string]string{}
	for name, ref := range own {
		if i := strings.LastIndexByte(name, '/'); i >= 0 && gone[ref] == nil {
			if others[name[:i]] == nil {
				others[name[:i]] = map[string]string{}
			}
			others[name[:i]][name[i+1:]] = ref
		}
	}
	for session, named := range others {
		other := v.session()
		other.Session = session
		if err := v.eraseIn(other, named, gone); err != nil {
			return nil, err
		}
	}
	return gone, nil
}

// eraseIn takes out of a book what is named by id or key, and was not found
// before. Names tells the ref of each.
func (v *memoryCall) eraseIn(n memstore.Key, names map[string]string, gone map[string]*memstore.Entry) error {
	found := map[string]*memstore.Entry{}
	err := v.shelf.Change(n, func(d *memstore.Edit) error {
		for _, e := range slices.Clone(d.Entries) {
			ref, ok := names[e.ID]
			if !ok && e.Key != "" {
				ref, ok = names[e.Key]
			}
			if ok && gone[ref] == nil {
				found[ref] = e
				d.Erase(e.ID)
			}
		}
		return nil
	})
	if err == nil {
		maps.Copy(gone, found)
	}
	return err
}
