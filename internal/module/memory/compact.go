package memory

import (
	"context"
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"callgate/internal/amount"
	"callgate/internal/module"
	"callgate/internal/module/memory/memstore"
	"callgate/tool"
)

//go:embed compact.md
var compactDoc string

const compactInput = `{
  "type": "object",
  "properties": {
    "tiers": {"type": "array", "items": {"type": "string", "enum": ["working", "knowledge"]}, "maxItems": 2,
      "description": "What to tidy up; both unless given."},
    "completed_older_than_hours": {"type": "number", "minimum": 0, "maximum": 87600, "default": 24,
      "description": "Completed tasks older than this leave the list; 0 for all of them."},
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
    "summarized": {"type": "integer", "description": "Old facts that the summary of the session holds now."},
    "similar": {"type": "array", "items": {"type": "object", "properties": {
      "a": {"type": "string"}, "b": {"type": "string"},
      "text_a": {"type": "string"}, "text_b": {"type": "string"}, "score": {"type": "number"}
    }, "required": ["a", "b", "text_a", "text_b", "score"]}}
  },
  "required": ["dry_run", "dropped", "similar"]
}`

func compactTool(s *service) definition {
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
		handler: handler(s, "compact", compact),
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
	minSimilarity = 0.8   // of texts that are listed as similar
	maxPairs      = 20    // in a result
	maxCompared   = 1_000 // texts, the newest
	keepRecent    = 20    // facts that are never summarized
)

func compact(ctx context.Context, c *memoryCall, in compactArgs) (*tool.Result, error) {
	hours := 24.0
	if in.OlderThan != nil {
		hours = *in.OlderThan
	}
	before := time.Now().Add(-time.Duration(hours * float64(time.Hour)))
	data := compactData{DryRun: in.DryRun, Dropped: []dropped{}, Similar: []similar{}}
	for _, tier := range []struct {
		name string
		key  memstore.Key
	}{{working, c.session()}, {tierKnowledge, c.knowledge()}} {
		if len(in.Tiers) > 0 && !slices.Contains(in.Tiers, tier.name) {
			continue
		}
		if err := c.dropStale(ctx, tier.key, before, &data); err != nil {
			return nil, err
		}
		if tier.name == working && !in.DryRun {
			if err := c.summarize(ctx, &data); err != nil {
				return nil, err
			}
		}
		left, err := c.store.Read(ctx, tier.key)
		if err != nil {
			return nil, err
		}
		data.Similar = append(data.Similar, c.similar(left, data.Dropped)...)
	}
	data.Similar = data.Similar[:min(len(data.Similar), maxPairs)]
	return compactResult(data)
}

// dropStale drops entries that are certainly not needed.
func (c *memoryCall) dropStale(
	ctx context.Context, key memstore.Key, before time.Time, data *compactData,
) error {
	find := func(entries []*memstore.Entry) []dropped {
		return slices.Concat(completedTasks(entries, before), duplicates(entries))
	}
	if data.DryRun {
		entries, err := c.store.Read(ctx, key)
		data.Dropped = append(data.Dropped, find(entries)...)
		return err
	}
	var stale []dropped
	err := c.store.Change(ctx, key, func(edit *memstore.Edit) error {
		stale = find(edit.Entries)
		for _, d := range stale {
			edit.Drop(d.Ref)
		}
		return nil
	})
	data.Dropped = append(data.Dropped, stale...)
	return err
}

// completedTasks lists tasks that were completed before a time.
func completedTasks(entries []*memstore.Entry, before time.Time) (stale []dropped) {
	for _, t := range memstore.Tasks(entries) {
		if t.Status == completed && !t.Changed.After(before) {
			stale = append(stale, dropped{t.ID, cut(t.Text, 200), "completed"})
		}
	}
	return stale
}

// duplicates lists facts and knowledge that a newer entry repeats. It leaves an
// entry with a key, by which an agent may ask for it.
func duplicates(entries []*memstore.Entry) (stale []dropped) {
	kept := map[string]*memstore.Entry{} // by canonical text
	keep := func(e *memstore.Entry) {
		if text := canonical(e.Text); kept[text] == nil {
			kept[text] = e
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
		if keep(e); kept[canonical(e.Text)] != e {
			stale = append(stale, dropped{e.ID, cut(e.Text, 200), "said by " + kept[canonical(e.Text)].ID})
		}
	}
	return stale
}

// similar lists pairs that mean nearly the same, without entries that are dropped.
func (c *memoryCall) similar(entries []*memstore.Entry, stale []dropped) (pairs []similar) {
	entries = slices.Concat(memstore.Of(entries, memstore.Fact), memstore.Of(entries, memstore.Knowledge))
	entries = slices.DeleteFunc(entries, func(e *memstore.Entry) bool {
		return slices.ContainsFunc(stale, func(d dropped) bool { return d.Ref == e.ID })
	})
	entries = entries[max(0, len(entries)-maxCompared):]
	texts := make([]string, len(entries))
	for i, e := range entries {
		texts[i] = e.Text
	}
	for _, p := range c.ranker.SimilarPairs(texts, minSimilarity) {
		if len(pairs) == maxPairs {
			break
		}
		a, b := entries[p.A], entries[p.B]
		pairs = append(pairs, similar{a.ID, b.ID, cut(a.Text, 200), cut(b.Text, 200), math.Round(p.Score*1000) / 1000})
	}
	return pairs
}

// summarize has the session's summary take in the old facts, where a model can write it.
// The session is not locked meanwhile; if what it read changes, summarize does nothing.
func (c *memoryCall) summarize(ctx context.Context, data *compactData) error {
	if c.summarizer == nil {
		return nil
	}
	entries, err := c.store.Read(ctx, c.session())
	facts := memstore.Of(entries, memstore.Fact)
	if err != nil || len(facts) <= keepRecent+1 {
		return err
	}
	old := facts[:len(facts)-keepRecent]
	facts = append(memstore.Of(entries, memstore.Summary), old...)
	var texts []string
	for _, f := range facts {
		texts = append(texts, f.Text)
	}
	made, err := c.summarizer.Summarize(ctx, c.call, texts)
	c.attempts = append(c.attempts, made.Attempts...)
	var text string
	if err == nil {
		text, err = c.cleanText("summary", made.Text)
	}
	if err != nil {
		c.warnings = append(c.warnings, fmt.Sprintf("the %d oldest facts are kept as they were, not summed up: %v",
			len(old), err))
		return nil
	}
	return c.store.Change(ctx, c.session(), func(edit *memstore.Edit) error {
		data.Summarized = 0
		for _, f := range facts {
			if now := edit.Find(f.ID); now == nil || now.Seq != f.Seq {
				return nil
			}
		}
		for _, f := range facts {
			edit.Drop(f.ID)
		}
		edit.Put(memstore.Entry{Kind: memstore.Summary, Text: text})
		data.Summarized = len(old)
		return nil
	})
}

func compactResult(data compactData) (*tool.Result, error) {
	did := "dropped "
	if data.DryRun {
		did = "would drop "
	}
	parts := []string{did + amount.Of(len(data.Dropped), "entry")}
	if data.Summarized > 0 {
		parts = append(parts, "the summary took in "+amount.Of(data.Summarized, "fact"))
	}
	if len(data.Similar) > 0 {
		parts = append(parts, amount.As(len(data.Similar), "pair means", "pairs mean")+
			" nearly the same: compare them, and forget the worse one")
	}
	if len(data.Dropped)+data.Summarized+len(data.Similar) == 0 {
		parts = []string{"there is nothing to tidy up"}
	}
	return tool.OK(strings.Join(parts, "; "), data)
}
