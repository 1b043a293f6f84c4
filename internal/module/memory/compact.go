package memory

import (
	"context"
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"callgate/internal/module"
	"callgate/internal/module/memory/memstore"
	"callgate/tool"
)

//go:embed compact.md
var compactDoc string

const compactInput = `{
  "type": "object",
  "properties": {
    "tiers": {"type": "array", "items": {"type": "string", "enum": ["working", "knowledge"]}, "maxItems": 2, "description": "What to tidy up; both unless given."},
    "completed_older_than_hours": {"type": "number", "minimum": 0, "maximum": 87600, "default": 24, "description": "Completed tasks older than this leave the list; 0 for all of them."},
    "dry_run": {"type": "boolean", "default": false, "description": "Change nothing; say what would be done."}
  },
  "additionalProperties": false
}`

const compactOutput = `{
  "type": "object",
  "properties": {
    "dry_run": {"type": "boolean"},
    "dropped": {"type": "array", "items": {"type": "object", "properties": {
      "ref": {"type": "string"}, "text": {"type": "string"}, "why": {"type": "string"}
    }, "required": ["ref", "text", "why"]}},
    "summarized": {"type": "integer", "description": "Old facts of which one was made."},
    "similar": {"type": "array", "items": {"type": "object", "properties": {
      "a": {"type": "string"}, "b": {"type": "string"}, "text_a": {"type": "string"}, "text_b": {"type": "string"}, "score": {"type": "number"}
    }, "required": ["a", "b", "text_a", "text_b", "score"]}}
  },
  "required": ["dry_run", "dropped", "similar"]
}`

func compactTool(d *service) definition {
	return definition{
		name: "compact", short: "MemoryCompact", doc: compactDoc, input: compactInput, output: compactOutput,
		examples: []tool.Example{
			module.Example("everything, and all completed tasks", `{"completed_older_than_hours": 0}`),
			module.Example("only look", `{"dry_run": true}`),
		},
		aliases: []string{
			"choir.memory.compact", "memory_compact", "compact_memory", "clean_memory", "dedupe_memory",
			"tidy up memory", "remove duplicates from memory", "clear completed tasks",
			"ranger la mémoire", "nettoyer la mémoire", "supprimer les doublons",
		},
		tags:    []string{"memory", "compact", "tidy", "duplicates", "mémoire", "ranger", "doublons"},
		handler: handler(d, "compact", compact),
	}
}

type compactArgs struct {
	Tiers     []string `json:"tiers"`
	OlderThan *float64 `json:"completed_older_than_hours"`
	DryRun    bool     `json:"dry_run"`
}

type compactData struct {
	DryRun     bool      `json:"dry_run"`
	Dropped    []dropped `json:"dropped"`
	Summarized int       `json:"summarized,omitempty"`
	Similar    []similar `json:"similar"`
}

type dropped struct {
	Ref  string `json:"ref"`
	Text string `json:"text"`
	Why  string `json:"why"`
}

type similar struct {
	A     string  `json:"a"`
	B     string  `json:"b"`
	TextA string  `json:"text_a"`
	TextB string  `json:"text_b"`
	Score float64 `json:"score"`
}

const (
	alike      = 0.8   // from where on texts are shown as similar
	maxAlike   = 20    // pairs that are shown
	maxPaired  = 1_000 // texts that are held against each other, the newest
	recentOnes = 20    // facts that are never summarized
)

func compact(ctx context.Context, v *memoryCall, in compactArgs) (*tool.Result, error) {
	hours := 24.0
	if in.OlderThan != nil {
		hours = *in.OlderThan
	}
	before := time.Now().Add(-time.Duration(hours * float64(time.Hour)))
	data := compactData{DryRun: in.DryRun, Dropped: []dropped{}, Similar: []similar{}}
	for _, tier := range []struct {
		name string
		book memstore.Key
	}{{working, v.session()}, {tierKnowledge, v.knowledge()}} {
		if len(in.Tiers) > 0 && !slices.Contains(in.Tiers, tier.name) {
			continue
		}
		if err := v.dropStale(tier.book, before, &data); err != nil {
			return nil, err
		}
		if tier.name == working && !in.DryRun {
			if err := v.summarize(ctx, &data); err != nil {
				return nil, err
			}
		}
		left, err := v.shelf.Read(tier.book)
		if err != nil {
			return nil, err
		}
		data.Similar = append(data.Similar, v.similar(left, data.Dropped)...)
	}
	data.Similar = data.Similar[:min(len(data.Similar), maxAlike)]
	return compacted(data)
}

// dropStale drops what is certainly not needed.
func (v *memoryCall) dropStale(n memstore.Key, before time.Time, data *compactData) error {
	drop := func(entries []*memstore.Entry) []dropped {
		return slices.Concat(old(entries, before), duplicates(entries))
	}
	if data.DryRun {
		entries, err := v.shelf.Read(n)
		data.Dropped = append(data.Dropped, drop(entries)...)
		return err
	}
	return v.shelf.Change(n, func(d *memstore.Edit) error {
		gone := drop(d.Entries)
		for _, g := range gone {
			d.Erase(g.Ref)
		}
		data.Dropped = append(data.Dropped, gone...)
		return nil
	})
}

// old lists tasks that were completed before a time.
func old(entries []*memstore.Entry, before time.Time) (gone []dropped) {
	for _, t := range memstore.Tasks(entries) {
		if t.Status == completed && !t.Changed.After(before) {
			gone = append(gone, dropped{t.ID, cut(t.Text, 200), "completed"})
		}
	}
	return gone
}

// duplicates lists facts and knowledge that something newer says as well. What has
// a key stays: somebody may ask for it by that.
func duplicates(entries []*memstore.Entry) (gone []dropped) {
	said := map[string]*memstore.Entry{}
	keep := func(e *memstore.Entry) {
		if text := plain(e.Text); said[text] == nil {
			said[text] = e
		}
	}
	for _, e := range entries {
		if e.Key != "" {
			keep(e)
		}
	}
	for _, e := range slices.Backward(entries) {
		if e.Key != "" || e.Kind != memstore.Fact && e.Kind != memstore.Knowledge {
			continue
		}
		if keep(e); said[plain(e.Text)] != e {
			gone = append(gone, dropped{e.ID, cut(e.Text, 200), "said by " + said[plain(e.Text)].ID})
		}
	}
	return gone
}

// similar lists pairs that mean nearly the same, but for what goes anyway.
func (v *memoryCall) similar(entries []*memstore.Entry, gone []dropped) (pairs []similar) {
	entries = slices.DeleteFunc(slices.Concat(memstore.Of(entries, memstore.Fact), memstore.Of(entries, memstore.Knowledge)), func(e *memstore.Entry) bool {
		return slices.ContainsFunc(gone, func(g dropped) bool { return g.Ref == e.ID })
	})
	entries = entries[max(0, len(entries)-maxPaired):]
	texts := make([]string, len(entries))
	for i, e := range entries {
		texts[i] = e.Text
	}
	for _, p := range v.ranker.SimilarPairs(texts, alike) {
		if len(pairs) == maxAlike {
			break
		}
		a, b := entries[p.A], entries[p.B]
		pairs = append(pairs, similar{a.ID, b.ID, cut(a.Text, 200), cut(b.Text, 200), math.Round(p.Score*1000) / 1000})
	}
	return pairs
}

// summarize makes one fact of the old ones, where there is somebody who can.
// The books are not locked while that takes its time; if the facts changed
// meanwhile, nothing is done.
func (v *memoryCall) summarize(ctx context.Context, data *compactData) error {
	if v.summarizer == nil {
		return nil
	}
	entries, err := v.shelf.Read(v.session())
	facts := memstore.Of(entries, memstore.Fact)
	if err != nil || len(facts) <= recentOnes+1 {
		return err
	}
	facts = facts[:len(facts)-recentOnes]
	var texts []string
	for _, f := range facts {
		texts = append(texts, f.Text)
	}
	text, err := v.summarizer.Summarize(ctx, texts)
	if err != nil {
		return &tool.Error{Op: v.op, Kind: tool.Unavailable, Message: "old facts cannot be summarized", Hint: "they are kept as they were; the rest is done", Err: err}
	}
	if text, err = v.cleanText("summary", text); err != nil {
		return err
	}
	return v.shelf.Change(v.session(), func(d *memstore.Edit) error {
		for _, f := range facts {
			if d.Find(f.ID) != f {
				return nil
			}
		}
		for _, f := range facts {
			d.Erase(f.ID)
		}
		d.Put(memstore.Entry{Kind: memstore.Fact, Text: text})
		data.Summarized = len(facts)
		return nil
	})
}

func compacted(data compactData) (*tool.Result, error) {
	did := "dropped "
	if data.DryRun {
		did = "would drop "
	}
	parts := []string{did + count(len(data.Dropped), "entry", "entries")}
	if data.Summarized > 0 {
		parts = append(parts, fmt.Sprintf("made one fact of %d", data.Summarized))
	}
	if len(data.Similar) > 0 {
		parts = append(parts, count(len(data.Similar), "pair means", "pairs mean")+" nearly the same: compare them, and forget the worse one")
	}
	if len(data.Dropped)+data.Summarized+len(data.Similar) == 0 {
		parts = []string{"there is nothing to tidy up"}
	}
	return tool.OK(strings.Join(parts, "; "), data)
}
