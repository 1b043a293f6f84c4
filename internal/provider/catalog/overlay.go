package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"callgate/tool"
)

// MaxFile is the size of a file of models at most.
const MaxFile = 8 << 20

// Overlay is what a file says of models, to be laid over a table.
type Overlay struct {
	models []overlaid
}

// overlaid is what a file says of one model, as it is written.
type overlaid struct {
	Entry
	raw    json.RawMessage // without the scores
	priced bool
}

// file is a file of models.
type file struct {
	Scale  float64           `json:"scale"` // of its scores: 1 or 100; 0: it does not say
	Models []json.RawMessage `json:"models"`
}

// ParseOverlay reads a file in the form of the table, in which a model may say as little as it likes:
//
//	{"scale": 100, "models": [{"provider": "openai", "model": "gpt-5.4-nano",
//	  "price": {"in": 0.05, "out": 0.4},
//	  "toolCompat": {"acme:triage@1.0.0": {"score": 97.5, "tested_at": "2026-11-17T10:00:00Z", "version": "…"}}}]}
func ParseOverlay(data []byte) (*Overlay, error) {
	const op = "catalog.ParseOverlay"
	var in file
	if err := json.Unmarshal(data, &in); err != nil {
		return nil, (&tool.Error{
			Op: op, Kind: tool.Invalid, Message: "the file of models is not JSON of the right form: " + err.Error(), Err: err,
		}).WithHint(`write {"models": [{"provider": "openai", "model": "gpt-5.4-nano", "price": {"in": 0.05, "out": 0.4}}]}`)
	}
	o := &Overlay{}
	for i, raw := range in.Models {
		one := overlaid{raw: raw}
		err := json.Unmarshal(raw, &one.Entry)
		if err == nil {
			one.priced, err = namesPrice(raw)
		}
		if err != nil {
			return nil, tool.Errorf(op, tool.Invalid, "model %d of the file: %w", i+1, err)
		}
		o.models = append(o.models, one)
	}
	factor, err := o.factor(in.Scale)
	if err != nil {
		return nil, err
	}
	for i, one := range o.models {
		scores := make(map[string]Compat, len(one.ToolCompat))
		for name, c := range one.ToolCompat {
			c.Score *= factor
			if id, err := tool.ParseID(name); err == nil {
				name = id.String() // the version may be written short
			}
			scores[name] = c
		}
		if len(scores) > 0 {
			one.ToolCompat, o.models[i].ToolCompat = scores, scores
		}
		if err := one.validateGiven(); err != nil {
			return nil, tool.Errorf(op, tool.Invalid, "model %d of the file: %w", i+1, err)
		}
	}
	return o, nil
}

func namesPrice(raw json.RawMessage) (bool, error) {
	var keys map[string]json.RawMessage
	err := json.Unmarshal(raw, &keys)
	if err == nil && keys == nil {
		err = errors.New("it is null")
	}
	_, named := keys["price"]
	return named, err
}

// factor is what the scores of the file are multiplied with. A file that does not name its scale, and in
// which no score is above 1, counts from 0 to 1, as other programs do.
func (o *Overlay) factor(scale float64) (float64, error) {
	switch scale {
	case 1:
		return 100, nil
	case 100:
		return 1, nil
	case 0:
	default:
		return 0, tool.Errorf("catalog.ParseOverlay", tool.Invalid, "the scale of the scores is %v", scale).
			WithHint("write 100, or 1 for scores from 0 to 1")
	}
	for _, one := range o.models {
		for _, c := range one.ToolCompat {
			if c.Score > 1 {
				return 1, nil
			}
		}
	}
	return 100, nil
}

// With returns the catalog with what a file says laid over it. own says that the user wrote the file for
// themselves; one of somebody else makes no model cheaper than it is known to be, and what it says of
// one without a price is shown, and no budget counts by it.
func (c *Catalog) With(o *Overlay, own bool) *Catalog {
	if o == nil {
		return c
	}
	out := &Catalog{
		Date: c.Date, Sources: c.Sources, entries: maps.Clone(c.entries), byModel: maps.Clone(c.byModel),
	}
	for _, one := range o.models {
		out.add(one.over(out.Find(one.Provider, one.Model), own))
	}
	return out
}

// over returns an entry with what the file says of it.
func (o overlaid) over(base Entry, own bool) Entry {
	e := base
	if base.Long != nil {
		long := *base.Long
		e.Long = &long
	}
	e.ToolCompat = nil
	_ = json.Unmarshal(o.raw, &e) // it was read before
	e.ToolCompat = maps.Clone(base.ToolCompat)
	if e.ToolCompat == nil {
		e.ToolCompat = map[string]Compat{}
	}
	maps.Copy(e.ToolCompat, o.ToolCompat)
	if own && o.priced && base.Claimed {
		base.Priced, e.Claimed = false, false
	}
	if !base.Priced && o.priced { // what is left out is not the price of another provider
		e.Price, e.Long, e.LongOver, e.Claimed = o.Price, o.Long, o.LongOver, !own
	}
	if base.Priced && !own {
		e.Price, e.Long, e.LongOver = atLeast(base.Price, e.Price), base.Long, base.LongOver
	}
	if e.LongOver <= 0 || e.Long == nil {
		e.Long, e.LongOver = nil, 0
	}
	if e.Window > 0 {
		e.MaxOutput = min(e.MaxOutput, e.Window)
	}
	e.Known, e.Priced = e.Window > 0, base.Priced || o.priced
	return e
}

// atLeast returns the higher of two prices. A price of the cache that is left out is that of the input.
func atLeast(a, b Price) Price {
	filled := func(p Price) Price {
		for _, cache := range []*float64{&p.Cached, &p.CacheWrite} {
			if *cache == 0 {
				*cache = p.Input
			}
		}
		return p
	}
	a, b = filled(a), filled(b)
	return Price{
		Input: max(a.Input, b.Input), Output: max(a.Output, b.Output),
		Cached: max(a.Cached, b.Cached), CacheWrite: max(a.CacheWrite, b.CacheWrite),
	}
}

// String names the model of an entry: provider/model.
func (e Entry) String() string { return fmt.Sprintf("%s/%s", e.Provider, e.Model) }
