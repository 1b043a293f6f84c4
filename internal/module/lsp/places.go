package lsp

import (
	"encoding/json"
	"fmt"
	"strings"

	"callgate/internal/module/lsp/langserver"
	"callgate/tool"
)

// location is a place as servers write it: a location, or a link to one.
type location struct {
	URI         string           `json:"uri"`
	Range       langserver.Range `json:"range"`
	TargetURI   string           `json:"targetUri"`
	TargetRange langserver.Range `json:"targetSelectionRange"`
}

// spot is a place as the model is told it.
type spot struct {
	Path       string `json:"path"`
	Line       int    `json:"line"`
	Column     int    `json:"column"`
	Name       string `json:"name,omitempty"`
	SymbolKind string `json:"symbol_kind,omitempty"`
	Source     string `json:"source,omitempty"`

	depth int
}

// String is the place in one line.
func (s spot) String() string {
	text := fmt.Sprintf("%s%s:%d:%d", strings.Repeat("  ", s.depth), s.Path, s.Line, s.Column)
	if s.Name != "" {
		text += " " + strings.TrimSpace(s.SymbolKind+" "+s.Name)
	}
	if s.Source != "" {
		text += ": " + s.Source
	}
	return text
}

// spot makes a place of a server's. An address that is no file is left as it is.
func (q *question) spot(uri string, at langserver.Position) spot {
	name := langserver.Path(uri)
	if name == "" {
		return spot{Path: langserver.Clean(uri, 200), Line: at.Line + 1, Column: at.Character + 1}
	}
	shown, inside := q.show(name)
	s := spot{Path: langserver.Clean(shown, 500), Line: at.Line + 1, Column: at.Character + 1}
	if !inside {
		return s
	}
	line := q.line(shown, at.Line)
	if at.Character >= 0 {
		s.Column = len([]rune(line[:offset(line, at.Character)])) + 1
	}
	s.Source = langserver.Clean(line, 200)
	return s
}

// locations asks for places.
func (q *question) locations(method string) (*tool.Result, error) {
	var raw json.RawMessage
	params := q.here(map[string]any{})
	if q.Kind == "references" {
		params["context"] = map[string]any{"includeDeclaration": true}
	}
	if err := q.call(method, params, &raw); err != nil {
		return nil, err
	}
	found, err := readLocations(raw)
	if err != nil {
		return nil, tool.Errorf(q.Op, tool.Failed, "%s answered nonsense: %v", q.server.Name(), err)
	}
	spots := []spot{}
	for _, l := range found[:min(len(found), q.Limit)] {
		spots = append(spots, q.spot(l.URI, l.Range.Start))
	}
	return q.tell(strings.ReplaceAll(q.Kind, "_", " "), spots, len(found))
}

// readLocations reads one place, a list of them, or none.
func readLocations(raw json.RawMessage) ([]location, error) {
	var list []location
	if strings.HasPrefix(strings.TrimSpace(string(raw)), "{") {
		list = make([]location, 1)
		if err := json.Unmarshal(raw, &list[0]); err != nil {
			return nil, err
		}
	} else if err := json.Unmarshal(raw, &list); len(raw) > 0 && err != nil {
		return nil, err
	}
	for i, l := range list {
		if l.TargetURI != "" {
			list[i].URI, list[i].Range = l.TargetURI, l.TargetRange
		}
	}
	return list, nil
}

// tell is the answer that is places.
func (q *question) tell(what string, spots []spot, all int) (*tool.Result, error) {
	var b strings.Builder
	switch {
	case all == 0:
		fmt.Fprintf(&b, "%s knows no %s here", q.server.Name(), what)
	case all > len(spots):
		fmt.Fprintf(&b, "%s: %d, the first %d of them", what, all, len(spots))
	default:
		fmt.Fprintf(&b, "%s: %d", what, all)
	}
	for _, s := range spots {
		b.WriteString("\n" + s.String())
	}
	return q.answer(b.String(), map[string]any{"places": spots, "left_out": all - len(spots)})
}

// hover asks for the type and the documentation of a name.
func (q *question) hover() (*tool.Result, error) {
	var answer struct {
		Contents json.RawMessage `json:"contents"`
	}
	if err := q.call("textDocument/hover", q.here(map[string]any{}), &answer); err != nil {
		return nil, err
	}
	const most = 20_000
	text := langserver.Clean(marked(answer.Contents, 0), most)
	if text == "" {
		return q.answer(q.server.Name()+" says nothing of this", map[string]any{"text": ""})
	}
	return q.answer(text, map[string]any{"text": text})
}

// marked reads the ways in which servers write a text.
func marked(raw json.RawMessage, depth int) string {
	var text string
	var block struct {
		Value string `json:"value"`
	}
	var list []json.RawMessage
	switch {
	case json.Unmarshal(raw, &text) == nil:
		return text
	case json.Unmarshal(raw, &block) == nil:
		return block.Value
	case depth == 0 && json.Unmarshal(raw, &list) == nil:
		var parts []string
		for _, one := range list {
			parts = append(parts, marked(one, depth+1))
		}
		return strings.Join(parts, "\n\n")
	}
	return ""
}

// symbol is a declaration as servers write it: with its children, or with a location.
type symbol struct {
	Name           string           `json:"name"`
	Kind           int              `json:"kind"`
	Container      string           `json:"containerName"`
	SelectionRange langserver.Range `json:"selectionRange"`
	Location       location         `json:"location"`
	Children       []symbol         `json:"children"`
}

// maxDepth bounds the declarations inside of others that are looked at.
const maxDepth = 20

// symbols asks what is declared in the file.
func (q *question) symbols() (*tool.Result, error) {
	var found []symbol
	if err := q.call("textDocument/documentSymbol", q.document(map[string]any{}), &found); err != nil {
		return nil, err
	}
	spots, all := []spot{}, 0
	var add func(list []symbol, depth int)
	add = func(list []symbol, depth int) {
		for _, s := range list {
			if all++; len(spots) < q.Limit {
				at := s.SelectionRange.Start
				if s.Location.URI != "" {
					at = s.Location.Range.Start
				}
				one := q.spot(langserver.URI(q.file.name), at)
				one.Name, one.SymbolKind, one.depth, one.Source = langserver.Clean(s.Name, 200), kindName(s.Kind), depth, ""
				spots = append(spots, one)
			}
			if depth < maxDepth {
				add(s.Children, depth+1)
			}
		}
	}
	add(found, 0)
	return q.tell("declarations", spots, all)
}

// workspaceSymbols asks for names in the whole project.
func (q *question) workspaceSymbols() (*tool.Result, error) {
	var found []symbol
	if err := q.call("workspace/symbol", map[string]any{"query": q.Query}, &found); err != nil {
		return nil, err
	}
	spots := []spot{}
	for _, s := range found[:min(len(found), q.Limit)] {
		one := q.spot(s.Location.URI, s.Location.Range.Start)
		one.Name, one.SymbolKind = langserver.Clean(s.Name, 200), kindName(s.Kind)
		spots = append(spots, one)
	}
	return q.tell("symbols", spots, len(found))
}

// callItem is a function in a hierarchy of calls. The server gets it back as it was.
type callItem struct {
	Name           string           `json:"name"`
	Kind           int              `json:"kind"`
	URI            string           `json:"uri"`
	SelectionRange langserver.Range `json:"selectionRange"`
}

// calls asks who calls a function, or what it calls.
func (q *question) calls() (*tool.Result, error) {
	var items []json.RawMessage
	if err := q.call("textDocument/prepareCallHierarchy", q.here(map[string]any{}), &items); err != nil {
		return nil, err
	}
	spots, all := []spot{}, 0
	for _, item := range items[:min(len(items), 10)] {
		var found []struct {
			From *callItem `json:"from"`
			To   *callItem `json:"to"`
		}
		method := "callHierarchy/incomingCalls"
		if q.Kind == "outgoing_calls" {
			method = "callHierarchy/outgoingCalls"
		}
		if err := q.call(method, map[string]any{"item": item}, &found); err != nil {
			return nil, err
		}
		for _, c := range found {
			with := c.From
			if with == nil {
				with = c.To
			}
			if with == nil {
				continue
			}
			if all++; len(spots) < q.Limit {
				one := q.spot(with.URI, with.SelectionRange.Start)
				one.Name, one.SymbolKind = langserver.Clean(with.Name, 200), kindName(with.Kind)
				spots = append(spots, one)
			}
		}
	}
	return q.tell(strings.ReplaceAll(q.Kind, "_", " "), spots, all)
}

// kindNames are the protocol's kinds of symbols, from 1 on.
var kindNames = strings.Fields(`file module namespace package class method property field constructor enum interface
function variable constant string number
boolean array object key null enum_member struct event operator type_parameter`)

func kindName(n int) string {
	if n < 1 || n > len(kindNames) {
		return ""
	}
	return kindNames[n-1]
}
