package catalog

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"callgate/internal/durable"
	"callgate/llmtool"
	"callgate/tool"
)

// Compat is how well a model did at an LLM-backed tool.
type Compat struct {
	Score    float64   `json:"score"` // from 0 to 100
	TestedAt time.Time `json:"tested_at"`
	Version  string    `json:"version,omitempty"` // of what was measured: the digest of the definition and its cases
}

// UnmarshalJSON reads a score, with the names that other programs give its parts.
func (c *Compat) UnmarshalJSON(data []byte) error {
	var in struct {
		Score    float64   `json:"score"`
		TestedAt time.Time `json:"tested_at"`
		Other    time.Time `json:"testedAt"`
		Version  string    `json:"version"`
	}
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*c = Compat{Score: in.Score, TestedAt: in.TestedAt, Version: in.Version}
	if c.TestedAt.IsZero() {
		c.TestedAt = in.Other
	}
	return nil
}

// Scores returns how well models did at a tool, from 0 to 100, by provider/model.
func (c *Catalog) Scores(id tool.ID) map[string]float64 {
	scores := map[string]float64{}
	for _, e := range c.entries {
		if compat, ok := e.ToolCompat[id.String()]; ok {
			scores[e.String()] = compat.Score
		}
	}
	return scores
}

// ModelsFor returns the models that reached a score at a tool, the best first.
func (c *Catalog) ModelsFor(id tool.ID, atLeast float64) []string {
	scores := c.Scores(id)
	maps.DeleteFunc(scores, func(_ string, score float64) bool { return score < atLeast })
	return slices.SortedFunc(maps.Keys(scores), func(a, b string) int {
		return cmp.Or(cmp.Compare(scores[b], scores[a]), strings.Compare(a, b))
	})
}

// Score is what was measured of one model at one tool.
type Score struct {
	Tool  tool.ID
	Model string // provider/model
	Compat
}

// WriteScores adds scores to a file of models, which is made if there is none. What else the file says
// stays, and it is replaced whole or not at all.
func WriteScores(path string, scores []Score) error {
	const op = "catalog.WriteScores"
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		data, err = []byte("{}"), nil
	}
	if err == nil {
		data, err = addScores(data, scores)
	}
	if err == nil {
		err = durable.Write(path, data, 0o644)
	}
	if err != nil {
		return &tool.Error{Op: op, Kind: cmp.Or(tool.KindOf(err), tool.Failed), Err: err,
			Message: "the scores cannot be written to " + path + ": " + err.Error()}
	}
	return nil
}

// addScores returns a file with more scores.
func addScores(data []byte, scores []Score) ([]byte, error) {
	known, err := ParseOverlay(data)
	if err != nil {
		return nil, err
	}
	var top map[string]json.RawMessage
	if err := json.Unmarshal(data, &top); err != nil {
		return nil, err
	}
	if top == nil { // it says null
		top = map[string]json.RawMessage{}
	}
	models := make([]map[string]json.RawMessage, len(known.models))
	compats := make([]map[string]Compat, len(known.models))
	names := make([]string, len(known.models))
	for i, one := range known.models {
		if err := json.Unmarshal(one.raw, &models[i]); err != nil {
			return nil, err
		}
		compats[i], names[i] = one.ToolCompat, one.Entry.String()
	}
	for _, s := range scores {
		i := slices.Index(names, s.Model)
		if i < 0 {
			provider, model, err := llmtool.SplitModel(s.Model)
			if err != nil {
				return nil, err
			}
			i = len(models)
			names, compats = append(names, s.Model), append(compats, nil)
			models = append(models, map[string]json.RawMessage{"provider": text(provider), "model": text(model)})
		}
		if compats[i] == nil {
			compats[i] = map[string]Compat{}
		}
		compats[i][s.Tool.String()] = s.Compat
	}
	for i, c := range compats {
		if c == nil {
			continue
		}
		if models[i]["toolCompat"], err = json.Marshal(c); err != nil {
			return nil, err
		}
	}
	top["scale"] = json.RawMessage("100")
	if top["models"], err = json.Marshal(models); err != nil {
		return nil, err
	}
	out, err := json.Marshal(top)
	if err != nil {
		return nil, err
	}
	if _, err := ParseOverlay(out); err != nil {
		return nil, err
	}
	var indented bytes.Buffer
	err = json.Indent(&indented, append(out, '\n'), "", "  ")
	return indented.Bytes(), err
}

func text(s string) json.RawMessage {
	raw, _ := json.Marshal(s) // a text can always be written
	return raw
}
