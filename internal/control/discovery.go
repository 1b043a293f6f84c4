package control

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"callgate/internal/agent/surface"
	"callgate/internal/amount"
	"callgate/internal/nearest"
	"callgate/internal/search"
	"callgate/tool"
)

const (
	pageSize     = 20 // tools of a page
	categoryPage = 50 // categories of a page
	maxValid     = 40 // names that an error lists
)

// toolSummary is a tool in a list.
type toolSummary struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Risk        tool.Risk       `json:"risk_level"`
	Params      string          `json:"params_summary"`
	Tags        []string        `json:"tags,omitempty"`
	Relevance   float64         `json:"relevance,omitempty"`
	Why         string          `json:"why,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

// search answers search_tools. Without a query it browses: the category that
// is named, or the list of categories.
func (d *discovery) search(ctx context.Context, call tool.Call, _ tool.Grant) (*tool.Result, error) {
	var in struct {
		Query    string    `json:"query"`
		Queries  []string  `json:"queries"`
		Max      int       `json:"max_results"`
		Limit    int       `json:"limit"`
		Page     int       `json:"page"`
		Category string    `json:"category"`
		Tag      string    `json:"tag"`
		MaxRisk  tool.Risk `json:"max_risk"`
		Detail   bool      `json:"detail"`
	}
	s, err := d.parseCall(call, &in)
	if err != nil {
		return nil, err
	}
	r := search.Request{Queries: in.Queries, Limit: max(in.Max, in.Limit, 1), Filter: search.Filter{MaxRisk: in.MaxRisk}}
	if in.Max == 0 && in.Limit == 0 {
		r.Limit = search.DefaultLimit
	}
	r.Offset = max(in.Page-1, 0) * r.Limit
	if in.Max == 0 && in.Limit == 0 && r.Offset == 0 {
		r.Limit = 0 // as many as belong together
	}
	if strings.TrimSpace(in.Query) != "" {
		r.Queries = append([]string{in.Query}, in.Queries...)
	}
	if in.Tag != "" {
		r.Filter.Tags = []string{in.Tag}
	}
	if in.Category != "" {
		m, err := category(ctx, s, in.Category)
		if err != nil {
			return nil, err
		}
		r.Filter.Modules = []string{m.Name}
	}
	if len(r.Queries) == 0 && in.Category == "" && in.Tag == "" {
		return d.listCategories(ctx, s, in.Page)
	}
	found, err := s.Search(ctx, r)
	if err != nil {
		return nil, err
	}
	return d.found(found, in.Detail)
}

// queryResult is what one of several queries found.
type queryResult struct {
	Query string        `json:"query"`
	Tools []toolSummary `json:"tools"`
	Count int           `json:"count"`
}

func (d *discovery) found(found *search.Response, detail bool) (*tool.Result, error) {
	list := make([]queryResult, len(found.Answers))
	total := 0
	for i, a := range found.Answers {
		list[i] = queryResult{Query: a.Query, Tools: make([]toolSummary, len(a.Hits)), Count: len(a.Hits)}
		for j, h := range a.Hits {
			b := d.brief(h.Tool)
			if h.Private { // what was said in another project is not for the model of this one
				h.Like = "an earlier request"
			}
			b.Relevance, b.Why = h.Score, h.Why()
			if detail {
				b.Parameters = surface.Schema(h.Tool)
			}
			list[i].Tools[j] = b
		}
		total += len(a.Hits)
	}
	var value any
	if len(list) == 1 {
		value = struct {
			queryResult
			Unmatched []string `json:"unmatched,omitempty"`
		}{list[0], found.Unmatched}
	} else {
		value = struct {
			Results   []queryResult `json:"results"`
			Count     int           `json:"count"`
			Unmatched []string      `json:"unmatched,omitempty"`
		}{list, total, found.Unmatched}
	}
	summary := amount.Of(total, "tool") + " found"
	if len(found.Unmatched) > 0 {
		summary += "; nothing here answers this well: " + strings.Join(found.Unmatched, " | ")
	}
	result, err := tool.OK(summary, value)
	if err == nil && found.Degraded != "" {
		result.Warnings = append(result.Warnings, "only keywords were searched: "+found.Degraded)
	}
	return result, err
}

func (d *discovery) brief(t *tool.Tool) toolSummary {
	return toolSummary{
		Name: t.ID.Dotted(), Description: surface.OneLine(t.Spec.Description),
		Risk: risk(t), Params: d.signature(t), Tags: t.Spec.Tags,
	}
}

// get answers get_tool with what a caller needs for a call. The words by which a tool
// is found, and the schema of its data, are not among that: a result shows itself.
func (d *discovery) get(ctx context.Context, call tool.Call, _ tool.Grant) (*tool.Result, error) {
	var in struct {
		Name  string `json:"name"`
		Other string `json:"tool_name"`
		Tool  string `json:"tool"`
	}
	s, err := d.parseCall(call, &in)
	if err != nil {
		return nil, err
	}
	name := firstOf(in.Name, in.Other, in.Tool)
	if name == "" {
		return nil, tool.Errorf("get_tool", tool.Invalid, "no tool is named").
			WithHint(`give its name, as search_tools shows it: {"name":"…"}`)
	}
	seen, err := s.Tool(ctx, name)
	if err != nil {
		return nil, err
	}
	return tool.OK(seen.ID.Dotted()+"("+d.signature(seen.Tool)+")", struct {
		Name         string          `json:"name"`
		Description  string          `json:"description"`
		Module       string          `json:"module"`
		Risk         tool.Risk       `json:"risk_level"`
		Parameters   json.RawMessage `json:"parameters"`
		Examples     []tool.Example  `json:"examples,omitempty"`
		SideEffects  tool.SideEffect `json:"side_effects"`
		Irreversible bool            `json:"irreversible"`
		Policy       string          `json:"policy"`
	}{
		Name: seen.ID.Dotted(), Description: seen.Spec.Description, Module: seen.ID.Namespace,
		Risk: risk(seen.Tool), Parameters: surface.Schema(seen.Tool), Examples: seen.Spec.Examples,
		SideEffects: sideEffect(seen.Tool), Irreversible: irreversible(seen.Tool), Policy: seen.Policy,
	})
}

// categories answers list_categories.
func (d *discovery) categories(ctx context.Context, call tool.Call, _ tool.Grant) (*tool.Result, error) {
	var in struct {
		Page int `json:"page"`
	}
	s, err := d.parseCall(call, &in)
	if err != nil {
		return nil, err
	}
	return d.listCategories(ctx, s, in.Page)
}

func (d *discovery) listCategories(ctx context.Context, s Session, page int) (*tool.Result, error) {
	modules, err := s.Modules(ctx)
	if err != nil {
		return nil, err
	}
	type category struct {
		ID      string `json:"id"`
		Summary string `json:"summary"`
		Count   int    `json:"tool_count"`
	}
	tools := 0
	for _, m := range modules {
		tools += len(m.Tools)
	}
	shown, page, pages := paged(modules, page, categoryPage)
	list := make([]category, len(shown))
	for i, m := range shown {
		list[i] = category{m.Name, m.Summary, len(m.Tools)}
	}
	all := amount.Of(len(modules), "category")
	summary := all + ", " + amount.Of(tools, "tool")
	if page > pages {
		summary = all + pastEnd(page, pages)
	}
	return tool.OK(summary, struct {
		Categories []category `json:"categories"`
		Total      int        `json:"total_categories"`
		Tools      int        `json:"total_tools"`
		Page       int        `json:"page"`
		Pages      int        `json:"total_pages"`
	}{list, len(modules), tools, page, pages})
}

// browse answers browse_category.
func (d *discovery) browse(ctx context.Context, call tool.Call, _ tool.Grant) (*tool.Result, error) {
	var in struct {
		Category string `json:"category"`
		Page     int    `json:"page"`
	}
	s, err := d.parseCall(call, &in)
	if err != nil {
		return nil, err
	}
	m, err := category(ctx, s, in.Category)
	if err != nil {
		return nil, err
	}
	shown, page, pages := paged(m.Tools, in.Page, pageSize)
	list := make([]toolSummary, len(shown))
	for i, t := range shown {
		list[i] = d.brief(t)
	}
	summary := m.Name + ": " + amount.Of(len(m.Tools), "tool")
	if page > pages {
		summary += pastEnd(page, pages)
	} else {
		summary += fmt.Sprintf(", page %d of %d", page, pages)
	}
	return tool.OK(summary, struct {
		Category string        `json:"category"`
		Summary  string        `json:"summary"`
		Tools    []toolSummary `json:"tools"`
		Page     int           `json:"page"`
		Pages    int           `json:"total_pages"`
		Total    int           `json:"total_tools"`
	}{m.Name, m.Summary, list, page, pages, len(m.Tools)})
}

// category finds the module with a name. The error for an unknown name lists the
// modules that exist.
func category(ctx context.Context, s Session, name string) (Module, error) {
	modules, err := s.Modules(ctx)
	if err != nil {
		return Module{}, err
	}
	var names []string
	for _, m := range modules {
		if strings.EqualFold(m.Name, name) {
			return m, nil
		}
		names = append(names, m.Name)
	}
	e := tool.Errorf("browse_category", tool.NotFound, "there is no category %q", tool.Truncate(name))
	if close := nearest.Name(name, names); close != "" {
		return Module{}, e.WithHint("did you mean %s?", close)
	}
	if len(names) > maxValid {
		return Module{}, e.WithHint("there are %d: see list_categories", len(names))
	}
	return Module{}, e.WithHint("the categories are %s", strings.Join(names, ", "))
}

// pastEnd ends a summary whose page does not exist.
func pastEnd(page, pages int) string {
	return fmt.Sprintf(" on %s; there is no page %d", amount.Of(pages, "page"), page)
}

// paged is one page of a list; pages past the end are empty.
func paged[T any](list []T, page, size int) (shown []T, at, pages int) {
	pages = max(1, (len(list)+size-1)/size)
	at = max(page, 1)
	from := min((at-1)*size, len(list))
	return list[from:min(from+size, len(list))], at, pages
}
