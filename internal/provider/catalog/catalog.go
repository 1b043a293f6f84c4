// Package catalog knows well-known models: how much they read, how much they
// write, what that costs, and what they can do.
//
// The table is embedded with the date it was made and, for each provider, where
// its numbers come from. Prices change without notice; a cost reckoned from the
// table is an estimate, and a model that is not in it has none.
package catalog

import (
	_ "embed" // for the table
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strings"
	"sync"

	"callgate/llm"
	"callgate/tool"
)

// Entry is what is known of a model. The zero value is a model that nobody
// knows.
type Entry struct {
	Provider  string `json:"provider"`
	Model     string `json:"model"`
	Window    int    `json:"window"`     // tokens it can read and write together
	MaxOutput int    `json:"max_output"` // tokens it can write; 0: not known
	Price     Price  `json:"price"`
	Long      *Price `json:"long"` // for requests with more than LongOver tokens of input
	LongOver  int    `json:"long_over"`
	Tools     bool   `json:"tools"`  // takes tools natively
	Vision    bool   `json:"vision"` // sees pictures

	Known  bool `json:"-"`
	Priced bool `json:"-"` // the price is this provider's own
}

// Price is in US dollars for a million tokens, which is the same as millionths
// of a dollar for one.
type Price struct {
	Input      float64 `json:"in"`
	Output     float64 `json:"out"`
	Cached     float64 `json:"cached"`      // input that the cache served; 0: as input
	CacheWrite float64 `json:"cache_write"` // input that the cache took; 0: as input
}

// Cost is what a usage costs, in millionths of a dollar, and whether that is
// known.
func (e Entry) Cost(u llm.Usage) (int64, bool) {
	if !e.Priced {
		return 0, false
	}
	p := e.Price
	if e.Long != nil && u.Input > e.LongOver {
		p = *e.Long
	}
	or := func(price float64) float64 {
		if price == 0 {
			return p.Input
		}
		return price
	}
	fresh := max(0, u.Input-u.CachedInput-u.CacheWrite)
	cost := float64(fresh)*p.Input + float64(u.CachedInput)*or(p.Cached) + float64(u.CacheWrite)*or(p.CacheWrite) + float64(u.Output)*p.Output
	return int64(math.Round(cost)), true
}

// Catalog is a table of models. It is immutable.
type Catalog struct {
	Date    string            // when the table was made
	Sources map[string]string // by provider: where its numbers come from
	entries map[string]Entry  // by provider and key
	anyone  map[string]Entry  // by key alone
}

//go:embed models.json
var embedded []byte

// Default is the table that comes with the program.
var Default = sync.OnceValue(func() *Catalog {
	c, err := Parse(embedded)
	if err != nil {
		panic(err) // the table is tested
	}
	return c
})

// Parse reads a table in the form of the embedded one, models.json.
func Parse(data []byte) (*Catalog, error) {
	const op = "catalog.Parse"
	var in struct {
		Date    string            `json:"date"`
		Sources map[string]string `json:"sources"`
		Models  []Entry           `json:"models"`
	}
	if err := json.Unmarshal(data, &in); err != nil {
		return nil, &tool.Error{Op: op, Kind: tool.Invalid, Message: "the table of models is no JSON of the right form", Err: err}
	}
	c := &Catalog{Date: in.Date, Sources: in.Sources, entries: map[string]Entry{}, anyone: map[string]Entry{}}
	for i, e := range in.Models {
		if err := e.validate(); err != nil {
			return nil, tool.Errorf(op, tool.Invalid, "model %d of the table: %w", i+1, err)
		}
		e.Known, e.Priced = true, true
		k := key(e.Model)
		if _, twice := c.entries[e.Provider+"/"+k]; twice {
			return nil, tool.Errorf(op, tool.Invalid, "model %d of the table: %s %s stands there twice", i+1, e.Provider, e.Model)
		}
		c.entries[e.Provider+"/"+k] = e
		for _, name := range []string{k, k[strings.LastIndexByte(k, '/')+1:]} {
			if _, there := c.anyone[name]; !there {
				c.anyone[name] = e
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
		return fmt.Errorf("it has no provider or no name")
	case e.Window <= 0 || e.MaxOutput < 0 || e.MaxOutput > e.Window:
		return fmt.Errorf("%s has a window of %d and an output of %d", e.Model, e.Window, e.MaxOutput)
	case (e.Long != nil) != (e.LongOver > 0):
		return fmt.Errorf("%s has a long price without a length, or a length without a price", e.Model)
	}
	return nil
}

// With is the catalog with the entries of another laid over it.
func (c *Catalog) With(over *Catalog) *Catalog {
	out := &Catalog{Date: over.Date, Sources: map[string]string{}, entries: map[string]Entry{}, anyone: map[string]Entry{}}
	for _, from := range []*Catalog{c, over} {
		for k, v := range from.Sources {
			out.Sources[k] = v
		}
		for k, v := range from.entries {
			out.entries[k] = v
		}
		for k, v := range from.anyone {
			out.anyone[k] = v
		}
	}
	return out
}

// Find looks a model up. A date or the like at the end of the name does not
// matter, nor does the maker's name in front. A model that is known from another
// provider is found too, but without a price: everybody has their own.
func (c *Catalog) Find(provider, model string) Entry {
	for _, name := range forms(model) {
		if e, ok := c.entries[provider+"/"+name]; ok {
			return e
		}
	}
	for _, name := range forms(model) {
		if e, ok := c.anyone[name]; ok {
			e.Provider, e.Priced = provider, false
			return e
		}
	}
	return Entry{Provider: provider, Model: model}
}

// suffix is what may follow a name without making it another model: a date, a
// revision, latest. A word such as pro or audio makes it another one.
var suffix = regexp.MustCompile(`(?:[-@](?:20[0-9]{6}|20[0-9]{2}-[0-9]{2}(?:-[0-9]{2})?|[0-9]{4}|[0-9]{3}|latest|preview|exp))+$`)

// forms are the keys under which a model may stand, most exact first.
func forms(model string) []string {
	exact := key(model)
	out := []string{exact}
	bare := exact
	if i := strings.LastIndexByte(bare, '/'); i >= 0 { // the maker, as OpenRouter writes it
		bare = bare[i+1:]
		out = append(out, bare)
	}
	if name, _, tagged := strings.Cut(bare, ":"); tagged { // the size or price, as Ollama and OpenRouter write it
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

// key writes a name the one way it is looked up: providers disagree about
// capitals and about dots.
func key(model string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(strings.TrimSpace(model), "models/")), ".", "-")
}
