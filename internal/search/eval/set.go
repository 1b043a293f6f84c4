// Package eval measures how well a searcher finds tools: it loads a labelled
// set, asks the searcher every query, and draws what came out as a table or a
// picture. It knows nothing of any searcher but the one function it calls, so
// two engines are judged by the same ruler.
//
// A set is a folder of three files, one JSON object a line:
//
//	tools.jsonl    {id, name, description, parameters, category, server}
//	queries.jsonl  {id, text, lang}
//	qrels.jsonl    {query, tool, rel}
//
// Other keys are let pass. A folder without queries is a catalogue, for size
// and speed. In place of tools.jsonl a folder may hold set.json, which borrows
// its tools from another folder, so that labels can be kept beside the code
// while the tools they speak of stay where they are.
package eval

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"callgate/tool"
)

// The files of a set's folder.
const (
	toolsFile   = "tools.jsonl"
	queriesFile = "queries.jsonl"
	qrelsFile   = "qrels.jsonl"
	borrowFile  = "set.json"
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

// Set is a loaded set. Every query and tool that Gold names is in it, every id
// is there once, and every relevance is between 0 and a thousand.
type Set struct {
	Name    string
	Tools   []Tool
	Queries []Query
	Gold    map[string]map[string]float64 // query → tool → how relevant
}

// Unscored returns the ids of the queries that have no right answer, in the
// set's order. Nothing can be said about an answer to those, so Run leaves
// them out, and says how many they were.
func (s *Set) Unscored() []string {
	var ids []string
	for _, q := range s.Queries {
		if relevant(s.Gold[q.ID]) == 0 {
			ids = append(ids, q.ID)
		}
	}
	return ids
}

// Load reads the set in dir. What is wrong with a file is an Invalid error
// that names the file and the line; a folder that is not there, or has no
// tools, is NotFound; and so is one whose borrowed tools are not there, which
// errors.Is tells from the others as ErrToolsAbsent.
func Load(dir string) (*Set, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, tool.Errorf("eval.load", tool.Invalid, "the path %s cannot be made absolute: %w", dir, err)
	}
	s := &Set{Name: filepath.Base(abs), Gold: map[string]map[string]float64{}}
	tools, err := s.loadTools(dir)
	if err != nil {
		return nil, err
	}
	queries, err := s.loadQueries(dir)
	if err != nil {
		return nil, err
	}
	if err := s.loadGold(dir, tools, queries); err != nil {
		return nil, err
	}
	return s, nil
}

// known says on which line an id was first seen.
type known map[string]int

// add notes an id, and complains about one that is empty or comes again.
func (k known) add(at place, what, id string) error {
	if id == "" {
		return at.errorf("a %s without an id", what).WithHint("give it an id of its own")
	}
	if first, again := k[id]; again {
		return at.errorf("the %s %q stands on line %d already", what, id, first).WithHint("remove one of them, or give it another id")
	}
	k[id] = at.line
	return nil
}

func (s *Set) loadTools(dir string) (known, error) {
	b, err := loadBorrowed(dir)
	if err != nil {
		return nil, err
	}
	from := dir
	if b != nil {
		from = b.folder
		if b.Name != "" {
			s.Name = b.Name
		}
	}
	tools := known{}
	there, err := eachLine(filepath.Join(from, toolsFile), func(at place, t Tool) error {
		if err := checkTool(at, tools, &t); err != nil {
			return err
		}
		if b.takes(t) {
			s.Tools = append(s.Tools, t)
		} else {
			delete(tools, t.ID)
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case !there:
		return nil, tool.Errorf("eval.load", tool.NotFound, "there is no %s in %s", toolsFile, from).
			WithHint("name a folder that holds %s, or %s with tools_from", toolsFile, borrowFile)
	}
	return tools, b.missing(dir)
}

// checkTool holds one line of tools.jsonl to its law, and makes a null schema
// no schema.
func checkTool(at place, tools known, t *Tool) error {
	if err := tools.add(at, "tool", t.ID); err != nil {
		return err
	}
	if t.Name == "" {
		return at.errorf("the tool %q has no name", t.ID).WithHint("add its name")
	}
	switch {
	case bytes.Equal(t.Parameters, []byte("null")):
		t.Parameters = nil
	case len(t.Parameters) > 0 && t.Parameters[0] != '{':
		return at.errorf("the parameters of the tool %q are not an object", t.ID).WithHint("write a JSON Schema object, or null")
	}
	return nil
}

func (s *Set) loadQueries(dir string) (known, error) {
	queries := known{}
	_, err := eachLine(filepath.Join(dir, queriesFile), func(at place, q Query) error {
		if q.Text == "" {
			return at.errorf("the query %q has no text", q.ID).WithHint("add its text, or remove the line")
		}
		s.Queries = append(s.Queries, q)
		return queries.add(at, "query", q.ID)
	})
	return queries, err
}

// maxRelevant bounds a relevance, so that sums of them stay numbers.
const maxRelevant = 1000

// label is one line of qrels.jsonl; a relevance that is not written is 1.
type label struct {
	Query string   `json:"query"`
	Tool  string   `json:"tool"`
	Rel   *float64 `json:"rel"`
}

func (s *Set) loadGold(dir string, tools, queries known) error {
	_, err := eachLine(filepath.Join(dir, qrelsFile), func(at place, l label) error {
		if queries[l.Query] == 0 {
			return at.errorf("the query %q is not in %s", l.Query, queriesFile).WithHint("mend the id, or add the query there")
		}
		if tools[l.Tool] == 0 {
			return at.errorf("the tool %q is not among the set's %d tools", l.Tool, len(s.Tools)).WithHint("mend the id, or add the tool")
		}
		rel := 1.0
		if l.Rel != nil {
			rel = *l.Rel
		}
		if rel < 0 || rel > maxRelevant {
			return at.errorf("the relevance %g is not between 0 and %d", rel, maxRelevant).WithHint("write 0 for a tool that is wrong, more for one that is right")
		}
		of := s.Gold[l.Query]
		if of == nil {
			of = map[string]float64{}
			s.Gold[l.Query] = of
		}
		if _, again := of[l.Tool]; again {
			return at.errorf("the query %q has a label for the tool %q already", l.Query, l.Tool).WithHint("remove one of the two")
		}
		of[l.Tool] = rel
		return nil
	})
	return err
}

// absent says whether err means that there is no such file.
func absent(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// isFile says whether there is a file of that name.
func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && !info.IsDir()
}
