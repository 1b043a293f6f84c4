// Package catalog is a table of well-known models: how much they read and write, what that costs, and what they
// can do.
//
// The table is embedded, with its date and, for each provider, the source of its numbers. Prices change without
// notice: a cost from the table is an estimate, and a model that is not in it has none.
package catalog

import (
	"cmp"
	_ "embed" // for the table
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"

	"callgate/llm"
	"callgate/tool"
)

// Entry is what is known about a model. The zero value is an unknown model.
type Entry struct {
	Provider  string `json:"provider"`
	Model     string `json:"model"`
	Window    int    `json:"window"`     // tokens it can read and write together
	MaxOutput int    `json:"max_output"` // tokens it can write; 0: unknown
	Price     Price  `json:"price"`
	Long      *Price `json:"long"` // for requests with more than LongOver tokens of input
	LongOver  int    `json:"long_over"`
	Tools     bool   `json:"tools"`  // accepts tools through the API
	Vision    bool   `json:"vision"` // accepts images

	Known  bool `json:"-"`
	Priced bool `json:"-"` // the price is this provider's own
}

// Price is in US dollars for a million tokens, which equals millionths of a dollar for one token.
type Price struct {
	Input      float64 `json:"in"`
	Output     float64 `json:"out"`
	Cached     float64 `json:"cached"`      // input read from the cache; 0: as Input
	CacheWrite float64 `json:"cache_write"` // input written to the cache; 0: as Input
}

// Cost returns the cost of a usage in millionths of a dollar, and whether it is known.
func (e Entry) Cost(u llm.Usage) (int64, bool) {
	if !e.Priced {
		return 0, false
	}
	p := e.Price
	if e.Long != nil && u.Input > e.LongOver {
		p = *e.Long
	}
	uncached := max(0, u.Input-u.CachedInput-u.CacheWrite)
	cost := float64(uncached)*p.Input + float64(u.Output)*p.Output +
		float64(u.CachedInput)*cmp.Or(p.Cached, p.Input) + float64(u.CacheWrite)*cmp.Or(p.CacheWrite, p.Input)
	return int64(math.Round(cost)), true
}

// Catalog is a table of models. It is immutable.
type Catalog struct {
	Date    string            // of the table
	Sources map[string]string // by provider: the source of its numbers
	entries map[string]Entry  // by provider and key
	byModel map[string]Entry  // by key alone
}

//go:embed models.json
var embedded []byte

// Default returns the embedded table.
var Default = sync.OnceValue(func() *Catalog {
	c, err := Parse(embedded)
	if err != nil {
		panic(err) // a test reads the table
	}
	return c
})

// Parse reads a table in the form of models.json.
func Parse(data []byte) (*Catalog, error) {
	const op = "catalog.Parse"
	var in struct {
		Date    string            `json:"date"`
		Sources map[string]string `json:"sources"`
		Models  []Entry           `json:"models"`
	}
	if err := json.Unmarshal(data, &in); err != nil {
		return nil, &tool.Error{
			Op: op, Kind: tool.Invalid, Message: "the table of models is not JSON of the right form", Err: err,
		}
	}
	c := &Catalog{Date: in.Date, Sources: in.Sources, entries: map[string]Entry{}, byModel: map[string]Entry{}}
	for i, e := range in.Models {
		if err := e.validate(); err != nil {
			return nil, tool.Errorf(op, tool.Invalid, "model %d of the table: %w", i+1, err)
		}
		e.Known, e.Priced = true, true
		k := key(e.Model)
		if _, twice := c.entries[e.Provider+"/"+k]; twice {
			return nil, tool.Errorf(op, tool.Invalid, "model %d of the table: %s %s is in it twice", i+1, e.Provider, e.Model)
		}
		c.entries[e.Provider+"/"+k] = e
		for _, name := range []string{k, k[strings.LastIndexByte(k, '/')+1:]} {
			if _, there := c.byModel[name]; !there {
				c.byModel[name] = e
			}
		}
	}
	return c, nil
}

func (e Entry) validate() error {
	prices := []Price{e.Price}
	if e.Long != nil {
		prices = append(prices, *e.Long)
	}
	for _, p := range prices {
		for _, n := range []float64{p.Input, p.Output, p.Cached, p.CacheWrite} {
			if n < 0 || n > 10_000 {
				return fmt.Errorf("%s has a price of %v", e.Model, n)
			}
		}
	}
	switch {
	case e.Provider == "" || e.Model == "":
		return errors.New("it has no provider or no name")
	case e.Window <= 0 || e.MaxOutput < 0 || e.MaxOutput > e.Window:
		return fmt.Errorf("%s has a window of %d and an output of %d", e.Model, e.Window, e.MaxOutput)
	case (e.Long != nil) != (e.LongOver > 0):
		return fmt.Errorf("%s has a long price without a length, or a length without a price", e.Model)
	}
	return nil
}

// With returns a catalog of both tables, in which the entries of the other one win.
func (c *Catalog) With(over *Catalog) *Catalog {
	out := &Catalog{Date: over.Date, Sources: map[string]string{}}
	out.entries, out.byModel = map[string]Entry{}, map[string]Entry{}
	for _, from := range []*Catalog{c, over} {
		maps.Copy(out.Sources, from.Sources)
		maps.Copy(out.entries, from.entries)
		maps.Copy(out.byModel, from.byModel)
	}
	return out
}

// Of returns the models that a provider lists, by name.
func (c *Catalog) Of(provider string) []Entry {
	var list []Entry
	for _, e := range c.entries {
		if e.Provider == provider {
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b Entry) int { return strings.Compare(a.Model, b.Model) })
	return list
}

// Find returns the entry of a model. It ignores a date and the like at the end of the name, and the maker's
// name in front. A model that only another provider lists is found too, but without a price, because each
// provider has its own.
func (c *Catalog) Find(provider, model string) Entry {
	for _, name := range forms(model) {
		if e, ok := c.entries[provider+"/"+name]; ok {
			return e
		}
	}
	for _, name := range forms(model) {
		if e, ok := c.byModel[name]; ok {
			e.Provider, e.Priced = provider, false
			return e
		}
	}
	return Entry{Provider: provider, Model: model}
}

// suffix matches what may follow a name without making it another model: a date, a revision, latest. A word
// such as pro or audio makes it another model.
var suffix = regexp.MustCompile(
	`(?:[-@](?:20[0-9]{6}|20[0-9]{2}-[0-9]{2}(?:-[0-9]{2})?|[0-9]{4}|[0-9]{3}|latest|preview|exp))+$`)

// forms returns the keys under which a model may be listed, the most exact first.
func forms(model string) []string {
	exact := key(model)
	out := []string{exact}
	bare := exact
	if i := strings.LastIndexByte(bare, '/'); i >= 0 { // OpenRouter puts the maker in front
		bare = bare[i+1:]
		out = append(out, bare)
	}
	if name, _, tagged := strings.Cut(bare, ":"); tagged { // Ollama and OpenRouter append the size or the price
		bare = name
		out = append(out, bare)
	}
	for _, name := range []string{exact, bare} {
		if cut := suffix.ReplaceAllString(name, ""); cut != name && cut != "" {
			out = append(out, cut)
		}
	}
	return out
}

// key returns a name in the form in which it is looked up: providers disagree about capitals and dots.
func key(model string) string {
	name := strings.TrimPrefix(strings.TrimSpace(model), "models/")
	return strings.ReplaceAll(strings.ToLower(name), ".", "-")
}
