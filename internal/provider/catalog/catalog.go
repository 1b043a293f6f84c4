// Package catalog is a table of well-known models: how much they read and write, what that costs, and what they
// can do.
//
// The table is embedded, with its date and, for each provider, the source of its numbers. Prices change without
// notice: a cost from the table is an estimate, and a model that is not in it has none.
//
// # Law
//
// A file in the form of the table is laid over it: what the file says of a model counts, and what it leaves
// out stays. A file that no human wrote for themselves, as one beside an app file, makes no model cheaper than
// it is known to be, and the price that it gives to one that has none is shown and no more: budgets count
// what the table says. Scores of models at tools are from 0 to 100 inside; a
// file that counts from 0 to 1 is converted where it is read.
package catalog

import (
	"cmp"
	_ "embed" // for the table
	"encoding/json"
	"errors"
	"fmt"
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
	// Structured says whether the API holds the model to a schema; nil: as its provider does.
	Structured *bool `json:"structured,omitempty"`
	// ToolCompat is how well it did at LLM-backed tools, by their IDs.
	ToolCompat map[string]Compat `json:"toolCompat,omitempty"`

	Known   bool `json:"-"`
	Priced  bool `json:"-"` // the price is this provider's own
	Claimed bool `json:"-"` // and only a file says so that the user did not write: no budget counts by it
}

// Price is in US dollars for a million tokens, which equals millionths of a dollar for one token.
type Price struct {
	Input      float64 `json:"in"`
	Output     float64 `json:"out"`
	Cached     float64 `json:"cached"`      // input read from the cache; 0: as Input
	CacheWrite float64 `json:"cache_write"` // input written to the cache; 0: as Input
}

// Cost returns the cost of a usage in millionths of a dollar, and whether it is known. Numbers that do not fit
// cost the most that there is, and none costs less than nothing: budgets count by it.
func (e Entry) Cost(u llm.Usage) (int64, bool) {
	if !e.Priced {
		return 0, false
	}
	p := e.Price
	if e.Long != nil && u.Input > e.LongOver {
		p = *e.Long
	}
	of := func(tokens int, price float64) float64 { return max(0, float64(tokens)) * price }
	cached, written := max(0, u.CachedInput), max(0, u.CacheWrite)
	uncached := max(0, float64(u.Input)-float64(cached)-float64(written))
	cost := math.Round(uncached*p.Input + of(u.Output, p.Output) +
		of(cached, cmp.Or(p.Cached, p.Input)) + of(written, cmp.Or(p.CacheWrite, p.Input)))
	if cost >= math.MaxInt64 {
		return math.MaxInt64, true
	}
	return int64(cost), true
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
		if _, twice := c.entries[e.Provider+"/"+key(e.Model)]; twice {
			return nil, tool.Errorf(op, tool.Invalid, "model %d of the table: %s %s is in it twice", i+1, e.Provider, e.Model)
		}
		c.add(e)
	}
	return c, nil
}

// add adds an entry, or replaces the one of its model.
func (c *Catalog) add(e Entry) {
	k := key(e.Model)
	c.entries[e.Provider+"/"+k] = e
	for _, name := range []string{k, k[strings.LastIndexByte(k, '/')+1:]} {
		if was, there := c.byModel[name]; !there || was.Provider == e.Provider && key(was.Model) == k {
			c.byModel[name] = e
		}
	}
}

func (e Entry) validate() error {
	if err := e.validateGiven(); err != nil {
		return err
	}
	switch {
	case e.Window <= 0 || e.MaxOutput < 0 || e.MaxOutput > e.Window:
		return fmt.Errorf("%s has a window of %d and an output of %d", e.Model, e.Window, e.MaxOutput)
	case (e.Long != nil) != (e.LongOver > 0):
		return fmt.Errorf("%s has a long price without a length, or a length without a price", e.Model)
	}
	return nil
}

// validateGiven checks what an entry says, which may be little.
func (e Entry) validateGiven() error {
	prices := []Price{e.Price}
	if e.Long != nil {
		prices = append(prices, *e.Long)
	}
	for _, p := range prices {
		for _, n := range []float64{p.Input, p.Output, p.Cached, p.CacheWrite} {
			if n < 0 || n > maxPrice {
				return fmt.Errorf("%s has a price of %v", e.Model, n)
			}
		}
	}
	for id, c := range e.ToolCompat {
		if _, err := tool.ParseID(id); err != nil {
			return fmt.Errorf("the toolCompat of %s: %w", e.Model, err)
		}
		if !(c.Score >= 0 && c.Score <= 100) {
			return fmt.Errorf("%s has a score of %v at %s, which is not from 0 to 100", e.Model, c.Score, id)
		}
	}
	switch {
	case e.Provider == "" || e.Model == "":
		return errors.New("it has no provider or no name")
	case e.Window < 0 || e.MaxOutput < 0 || e.LongOver < 0:
		return fmt.Errorf("%s has a window of %d and an output of %d", e.Model, e.Window, e.MaxOutput)
	}
	return nil
}

// maxPrice is the highest price that is believed.
const maxPrice = 10_000

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
			e.Provider, e.Priced, e.Claimed = provider, false, false
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
