package memory

import (
	"cmp"
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

//go:embed query.md
var queryDoc string

const queryInput = `{
  "type": "object",
  "properties": {
    "query": {"type": "string", "maxLength": 65536,
      "description": "semantic: what you want to know. hash: a key, an id or ref, a content hash, or the exact ` +
	`content."},
    "mode": {"type": "string", "enum": ["semantic", "hash", "range"], "default": "semantic", "description": "How to find it."},
    "tiers": {"type": "array", "items": {"type": "string", "enum": ["working", "session", "long_term", "knowledge"]},
      "maxItems": 4,
      "description": "Where to look; everywhere unless given."},
    "from": {"type": "string", "maxLength": 40, "description": "Not changed before this: a date, a time, or how long ago."},
    "to": {"type": "string", "maxLength": 40, "description": "Not changed after this."},
    "from_seq": {"type": "integer", "minimum": 0,
      "description": "range: from this number on; with one of the tiers working and knowledge."},
    "to_seq": {"type": "integer", "minimum": 0, "description": "range: up to this number."},
    "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 20, "description": "Only what has all of these tags."},
    "limit": {"type": "integer", "minimum": 1, "maximum": 50, "default": 10, "description": "How many results at most."},
    "offset": {"type": "integer", "minimum": 0, "default": 0, "description": "How many to pass over first."}
  },
  "additionalProperties": false
}`

const queryOutput = `{
  "type": "object",
  "properties": {
    "mode": {"type": "string"},
    "ranked_by": {"type": "string", "enum": ["meaning", "words"], "description": "semantic: what decided the order."},
    "total": {"type": "integer", "description": "How many there are."},
    "next_offset": {"type": "integer", "description": "The offset to continue with, when there are more."},
    "results": {"type": "array", "items": {"type": "object", "properties": {
      "ref": {"type": "string", "description": "What to call it in forget and in mode hash."},
      "tier": {"type": "string"},
      "kind": {"type": "string", "enum": ["goal", "task", "fact", "summary", "knowledge"]},
      "key": {"type": "string"},
      "text": {"type": "string"},
      "cut": {"type": "boolean", "description": "Whether the text goes on."},
      "detail": {"type": "string"},
      "status": {"type": "string"},
      "tags": {"type": "array", "items": {"type": "string"}},
      "score": {"type": "number"},
      "hash": {"type": "string"},
      "seq": {"type": "integer"},
      "changed": {"type": "string"}
    }, "required": ["ref", "tier", "kind", "text", "hash", "seq", "changed"]}}
  },
  "required": ["mode", "total", "results"]
}`

func queryTool(s *service) definition {
	return definition{
		name: "query", short: "MemoryQuery", doc: queryDoc, input: queryInput, output: queryOutput,
		reads: true, maxResult: maxAnswer,
		examples: []tool.Example{
			module.Example("by what it is about", `{"query": "how do we deploy?"}`),
			module.Example("one entry of the knowledge, whole",
				`{"mode": "hash", "query": "deploy/command", "tiers": ["knowledge"]}`),
			module.Example("what was noted since yesterday",
				`{"mode": "range", "from": "24h", "tiers": ["working", "session"]}`),
		},
		aliases: []string{
			"choir.memory.query", "choir.memory.search", "memory_query", "memory_search", "search_memory", "recall", "retrieve_memory",
			"search the memory", "what do I know about", "recall a fact", "find an earlier note", "what happened in earlier sessions",
			"chercher dans la mémoire", "se rappeler", "retrouver une note", "que sait-on de",
		},
		tags:    []string{"memory", "search", "recall", "knowledge", "semantic", "mémoire", "recherche", "rappel"},
		handler: handler(s, "query", query),
	}
}

type queryArgs struct {
	Query   string   `json:"query"`
	Mode    string   `json:"mode"`
	Tiers   []string `json:"tiers"`
	From    string   `json:"from"`
	To      string   `json:"to"`
	FromSeq int64    `json:"from_seq"`
	ToSeq   int64    `json:"to_seq"`
	Tags    []string `json:"tags"`
	Limit   int      `json:"limit"`
	Offset  int      `json:"offset"`
}

// The modes and the tiers.
const (
	semantic, byHash, byRange = "semantic", "hash", "range"

	working, otherSessions, longTerm, tierKnowledge = "working", "session", "long_term", "knowledge"
)

// Limits of a result.
const (
	maxExcerpt = 2_000     // bytes of one text
	maxTexts   = 20 << 10  // bytes of all texts
	maxAnswer  = 160 << 10 // bytes of a result with one complete entry, as text and as data
)

// found is an entry with its tier, its ref and its score.
type found struct {
	*memstore.Entry
	tier, ref string
	score     float64
}

func query(ctx context.Context, c *memoryCall, in queryArgs) (*tool.Result, error) {
	if in.Mode == "" {
		in.Mode = semantic
	}
	if in.Limit == 0 {
		in.Limit = 10
	}
	if err := in.check(c.op); err != nil {
		return nil, err
	}
	all, err := c.gather(ctx, in.Tiers)
	if err != nil {
		return nil, err
	}
	if all, err = in.narrow(c.op, all); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var warnings []string
	rankedBy := ""
	switch in.Mode {
	case byHash:
		all = c.matching(in.Query, all)
	case byRange:
		slices.SortStableFunc(all, func(a, b found) int {
			return cmp.Or(b.Changed.Compare(a.Changed), cmp.Compare(b.Seq, a.Seq))
		})
	default:
		all, rankedBy, warnings = c.ranked(in.Query, all)
	}
	return answer(in, all, rankedBy, warnings)
}

// check refuses arguments that contradict each other.
func (in *queryArgs) check(op string) error {
	in.Query = strings.TrimSpace(in.Query)
	if len(in.Tiers) == 0 {
		in.Tiers = []string{working, otherSessions, longTerm, tierKnowledge}
	}
	switch {
	case in.Query == "" && in.Mode != byRange:
		return tool.Errorf(op, tool.Invalid, "mode %s needs a query", in.Mode).
			WithHint("say what you are looking for, or use mode range for everything, newest first")
	case (in.FromSeq > 0 || in.ToSeq > 0) && (in.Mode != byRange || len(in.Tiers) != 1 ||
		in.Tiers[0] != working && in.Tiers[0] != tierKnowledge):
		return tool.Errorf(op, tool.Invalid, "each tier has numbers of its own: from_seq and to_seq need mode range "+
			"and one tier, working or knowledge").
			WithHint(`add "mode": "range" and "tiers": ["knowledge"], or use from and to`)
	case in.FromSeq > 0 && in.ToSeq > 0 && in.FromSeq > in.ToSeq:
		return tool.Errorf(op, tool.Invalid, "from_seq %d is after to_seq %d", in.FromSeq, in.ToSeq).
			WithHint("swap them")
	}
	return nil
}

// narrow keeps the entries within the given times and numbers that have the tags.
func (in *queryArgs) narrow(op string, all []found) ([]found, error) {
	now := time.Now()
	from, err := parseTime(in.From, now, false)
	if err != nil {
		return nil, in.badTime(op, "from", in.From)
	}
	to, err := parseTime(in.To, now, true)
	if err != nil {
		return nil, in.badTime(op, "to", in.To)
	}
	if !from.IsZero() && !to.IsZero() && from.After(to) {
		return nil, tool.Errorf(op, tool.Invalid, "from (%s) is after to (%s)",
			from.Format(time.RFC3339), to.Format(time.RFC3339)).
			WithHint("swap them; 7d means seven days ago")
	}
	last := in.ToSeq
	if last == 0 {
		last = math.MaxInt64
	}
	return slices.DeleteFunc(all, func(f found) bool {
		return f.Changed.Before(from) || !to.IsZero() && f.Changed.After(to) || f.Seq < in.FromSeq || f.Seq > last ||
			slices.ContainsFunc(in.Tags, func(t string) bool { return !slices.Contains(f.Tags, t) })
	}), nil
}

func (in *queryArgs) badTime(op, name, text string) error {
	return tool.Errorf(op, tool.Invalid, "%s is %q, which is not a time", name, tool.Truncate(text)).
		WithHint("write a date (2026-03-01), a time (2026-03-01T14:00), or how long ago it was (90m, 24h, 7d)")
}

// matching finds one entry by its ref, key, hash or content.
func (c *memoryCall) matching(want string, all []found) []found {
	hash := strings.ToLower(strings.TrimPrefix(want, "sha256:"))
	content, err := (&memoryCall{service: c.service, op: c.op, settings: c.settings}).cleanText("query", want)
	contentHash := ""
	if err == nil {
		contentHash = memstore.HashOf(content)
	}
	return slices.DeleteFunc(all, func(f found) bool {
		own := f.Hash()
		byHash := len(hash) >= 8 && (strings.HasPrefix(own, hash) || strings.HasPrefix(hash, own))
		return f.ref != want && (f.Key == "" || f.Key != want) && !byHash && own != contentHash
	})
}

// ranked orders entries by how well they answer a question.
func (c *memoryCall) ranked(question string, all []found) (hits []found, by string, warnings []string) {
	texts := make([]string, len(all))
	for i, f := range all {
		texts[i] = searchable(f.Entry)
	}
	a := c.ranker.Rank(question, texts)
	for _, h := range a.Hits {
		f := all[h.At]
		f.score = math.Round(h.Score*1000) / 1000
		hits = append(hits, f)
	}
	if a.Semantic {
		return hits, "meaning", nil
	}
	warning := "ranked by the words they share with the query, not by meaning; try other words if something is missing"
	if a.Problem != nil {
		warning = "the embedding model cannot be used now: " + warning
	}
	return hits, "words", []string{warning}
}

// searchable returns the texts of an entry that a question may be about.
func searchable(e *memstore.Entry) string {
	if e.Key == "" && e.Detail == "" && len(e.Tags) == 0 {
		return e.Text
	}
	return strings.TrimSpace(e.Key + " " + strings.Join(e.Tags, " ") + "\n" + e.Text + "\n" + e.Detail)
}

type queryData struct {
	Mode       string   `json:"mode"`
	RankedBy   string   `json:"ranked_by,omitempty"`
	Total      int      `json:"total"`
	NextOffset int      `json:"next_offset,omitempty"`
	Results    []result `json:"results"`
}

type result struct {
	Ref     string        `json:"ref"`
	Tier    string        `json:"tier"`
	Kind    memstore.Kind `json:"kind"`
	Key     string        `json:"key,omitempty"`
	Text    string        `json:"text"`
	Cut     bool          `json:"cut,omitempty"`
	Detail  string        `json:"detail,omitempty"`
	Status  string        `json:"status,omitempty"`
	Tags    []string      `json:"tags,omitempty"`
	Score   float64       `json:"score,omitempty"`
	Hash    string        `json:"hash"`
	Seq     int64         `json:"seq"`
	Changed string        `json:"changed"`
}

// answer returns the requested page of the results.
func answer(in queryArgs, all []found, rankedBy string, warnings []string) (*tool.Result, error) {
	data := queryData{Mode: in.Mode, RankedBy: rankedBy, Total: len(all), Results: []result{}}
	excerpt, left := maxExcerpt, maxTexts
	if in.Mode == byHash {
		excerpt, left = maxEntry, maxEntry
	}
	var text strings.Builder
	at := min(in.Offset, len(all))
	for ; at < len(all) && len(data.Results) < in.Limit; at++ {
		r := resultOf(all[at], excerpt)
		if left -= len(r.Text) + len(r.Detail); left < 0 && len(data.Results) > 0 {
			break
		}
		data.Results = append(data.Results, r)
		text.WriteString(r.line())
	}
	if at < len(all) {
		data.NextOffset = at
	}
	r, err := tool.OK(data.summary(in.Offset), data)
	if err == nil {
		r.Warnings = warnings
		if data.NextOffset > 0 {
			r.Cut = &tool.Cut{
				Unit: "entries", First: in.Offset + 1, Last: at, Total: len(all), Next: fmt.Sprintf("offset=%d", at),
			}
		}
		if text.Len() > 0 {
			r.Content = []tool.Content{tool.Text(text.String())}
		}
	}
	return r, err
}

func (d *queryData) summary(offset int) string {
	switch {
	case d.Total == 0:
		return "nothing is remembered that fits"
	case len(d.Results) == 0:
		return fmt.Sprintf("%s found; offset=%d is past the last", amount.Of(d.Total, "entry"), offset)
	}
	s := amount.Of(d.Total, "entry") + " found"
	if len(d.Results) < d.Total {
		s += fmt.Sprintf(", %d shown", len(d.Results))
	}
	if d.NextOffset > 0 {
		s += fmt.Sprintf("; continue with offset=%d", d.NextOffset)
	}
	return s
}

func resultOf(f found, excerpt int) result {
	return result{
		Ref: f.ref, Tier: f.tier, Kind: f.Kind, Key: f.Key, Text: cut(f.Text, excerpt), Cut: len(f.Text) > excerpt,
		Detail: cut(f.Detail, excerpt), Status: f.Status, Tags: f.Tags, Score: f.score, Hash: f.Hash(), Seq: f.Seq,
		Changed: f.Changed.Format(time.RFC3339),
	}
}

// line returns the result as text.
func (r result) line() string {
	name := r.Ref
	if r.Key != "" {
		name += " " + r.Key
	}
	if r.Status != "" {
		name += " " + r.Status
	}
	text := r.Text
	if r.Cut {
		text += " [it goes on: mode=hash query=" + r.Ref + " gives all of it]"
	}
	if r.Detail != "" {
		text += "\n" + r.Detail
	}
	return fmt.Sprintf("[%s %s, %s] %s\n", r.Tier, name, r.Changed, strings.ReplaceAll(text, "\n", "\n    "))
}
