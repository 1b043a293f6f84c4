// Package eval measures how well a searcher finds tools: it loads a labelled
// set, asks the searcher every query, and writes the results as a table. It
// knows of a searcher only the function that it calls, so that two engines are
// measured alike.
//
// A set is a folder of three files, one JSON object a line:
//
//	tools.jsonl    {id, name, description, parameters, category, server}
//	queries.jsonl  {id, text, lang}
//	qrels.jsonl    {query, tool, rel}
//
// Other keys are ignored. A folder without queries is a catalogue, for size and
// speed.
package eval

import (
	"bytes"
	"encoding/json"
	"path/filepath"

	"callgate/tool"
)

// The files of a set's folder.
const (
	toolsFile   = "tools.jsonl"
	queriesFile = "queries.jsonl"
	qrelsFile   = "qrels.jsonl"
)

// Tool is what a searcher may index of a tool.
type Tool struct {
	ID          string          `json:"id"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"` // a JSON Schema object, or nil
	Category    string          `json:"category"`
	Server      string          `json:"server"` // the server that offers it, where the set says so
}

// Query is one request, in a user's words.
type Query struct {
	ID   string `json:"id"`
	Text string `json:"text"`
	Lang string `json:"lang"` // "" where the set does not say
}

// Set is a loaded set. It holds every query and tool that Gold names, every ID
// once, and relevances between 0 and 1000.
type Set struct {
	Name    string
	Tools   []Tool
	Queries []Query
	Gold    map[string]map[string]float64 // query → tool → how relevant
}

// Unscored returns the IDs of the queries without a right answer, in the set's
// order. An answer to these cannot be judged, so Run leaves them out and counts
// them.
func (s *Set) Unscored() []string {
	var ids []string
	for _, q := range s.Queries {
		if relevant(s.Gold[q.ID]) == 0 {
			ids = append(ids, q.ID)
		}
	}
	return ids
}

// Load reads the set in dir. A mistake in a file is an Invalid error that names
// the file and the line. A folder that does not exist, or has no tools, is
// NotFound.
func Load(dir string) (*Set, error) {
	tools, err := LoadTools(dir)
	if err != nil {
		return nil, err
	}
	return LoadWith(dir, tools)
}

// LoadWith reads the queries and labels in dir, over tools that are loaded
// already. Their IDs must differ.
func LoadWith(dir string, tools []Tool) (*Set, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, tool.Errorf("eval.load", tool.Invalid, "the path %s cannot be made absolute: %w", dir, err)
	}
	s := &Set{Name: filepath.Base(abs), Tools: tools, Gold: map[string]map[string]float64{}}
	queries, err := s.loadQueries(dir)
	if err != nil {
		return nil, err
	}
	if err := s.loadGold(dir, queries); err != nil {
		return nil, err
	}
	return s, nil
}

// firstLines holds for each ID the line on which it was first seen.
type firstLines map[string]int

// add notes an ID, and refuses one that is empty or was seen before.
func (k firstLines) add(at place, what, id string) error {
	if id == "" {
		return at.errorf("a %s without an id", what).WithHint("give it an id of its own")
	}
	if first, again := k[id]; again {
		return at.errorf("the %s %q stands on line %d already", what, id, first).
			WithHint("remove one of them, or give it another id")
	}
	k[id] = at.line
	return nil
}

// LoadTools reads the tools in dir.
func LoadTools(dir string) ([]Tool, error) {
	var tools []Tool
	seen := firstLines{}
	found, err := eachLine(filepath.Join(dir, toolsFile), func(at place, t Tool) error {
		if err := checkTool(at, seen, &t); err != nil {
			return err
		}
		tools = append(tools, t)
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, tool.Errorf("eval.load", tool.NotFound, "there is no %s in %s", toolsFile, dir).
			WithHint("name a folder that holds %s", toolsFile)
	}
	return tools, nil
}

// checkTool checks one line of tools.jsonl. A schema that is null becomes nil.
func checkTool(at place, seen firstLines, t *Tool) error {
	if err := seen.add(at, "tool", t.ID); err != nil {
		return err
	}
	if t.Name == "" {
		return at.errorf("the tool %q has no name", t.ID).WithHint("add its name")
	}
	switch {
	case bytes.Equal(t.Parameters, []byte("null")):
		t.Parameters = nil
	case len(t.Parameters) > 0 && t.Parameters[0] != '{':
		return at.errorf("the parameters of the tool %q are not an object", t.ID).
			WithHint("write a JSON Schema object, or null")
	}
	return nil
}

func (s *Set) loadQueries(dir string) (firstLines, error) {
	queries := firstLines{}
	_, err := eachLine(filepath.Join(dir, queriesFile), func(at place, q Query) error {
		if q.Text == "" {
			return at.errorf("the query %q has no text", q.ID).WithHint("add its text, or remove the line")
		}
		s.Queries = append(s.Queries, q)
		return queries.add(at, "query", q.ID)
	})
	return queries, err
}

// maxRelevant limits a relevance, so that sums of relevances stay finite.
const maxRelevant = 1000

// label is one line of qrels.jsonl. The default relevance is 1.
type label struct {
	Query string   `json:"query"`
	Tool  string   `json:"tool"`
	Rel   *float64 `json:"rel"`
}

func (s *Set) loadGold(dir string, queries firstLines) error {
	tools := make(map[string]bool, len(s.Tools))
	for _, t := range s.Tools {
		tools[t.ID] = true
	}
	_, err := eachLine(filepath.Join(dir, qrelsFile), func(at place, l label) error {
		if queries[l.Query] == 0 {
			return at.errorf("the query %q is not in %s", l.Query, queriesFile).
				WithHint("correct the id, or add the query there")
		}
		if !tools[l.Tool] {
			return at.errorf("the tool %q is not among the set's %d tools", l.Tool, len(s.Tools)).
				WithHint("correct the id, or add the tool")
		}
		return s.addLabel(at, l)
	})
	return err
}

// addLabel adds a label whose query and tool exist.
func (s *Set) addLabel(at place, l label) error {
	rel := 1.0
	if l.Rel != nil {
		rel = *l.Rel
	}
	if rel < 0 || rel > maxRelevant {
		return at.errorf("the relevance %g is not between 0 and %d", rel, maxRelevant).
			WithHint("write 0 for a tool that is wrong, more for one that is right")
	}
	of := s.Gold[l.Query]
	if of == nil {
		of = map[string]float64{}
		s.Gold[l.Query] = of
	}
	if _, again := of[l.Tool]; again {
		return at.errorf("the query %q has a label for the tool %q already", l.Query, l.Tool).
			WithHint("remove one of the two")
	}
	of[l.Tool] = rel
	return nil
}
