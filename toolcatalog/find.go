package toolcatalog

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"callgate/llmtool"
	"callgate/tool"
)

// DefaultScore is what a model must reach where nobody says it.
const DefaultScore = 80

// Scores are what was measured of models at tools, from 0 to 100.
type Scores interface {
	// Scores returns the scores of a tool by model, provider/model. None: nobody measured it.
	Scores(id tool.ID) map[string]float64
}

// ScoresFunc makes a function Scores.
type ScoresFunc func(id tool.ID) map[string]float64

// Scores calls the function.
func (f ScoresFunc) Scores(id tool.ID) map[string]float64 { return f(id) }

// OfUnit turns scores that were measured from 0 to 1 into ours. One beyond its scale is cut to it.
func OfUnit(s Scores) Scores {
	return ScoresFunc(func(id tool.ID) map[string]float64 {
		turned := map[string]float64{}
		for model, score := range s.Scores(id) {
			turned[model] = min(max(score*100, 0), 100)
		}
		return turned
	})
}

// Filter selects tools; zero fields do not restrict.
type Filter struct {
	Namespace string
	Prefix    string // of the ID, namespace:name@version
	Tag       string
	// Model is provider/model: tools at which it reaches MinScore.
	Model string
	// MinScore is from 0 to 100. 0: DefaultScore.
	MinScore float64
}

// Find returns the tools of a list that a filter selects, in their order.
func Find(all []*tool.Tool, f Filter, s Scores) ([]*tool.Tool, error) {
	const op = "toolcatalog.Find"
	if err := checkScore(op, f.MinScore); err != nil {
		return nil, err
	}
	switch {
	case f.Model == "" && f.MinScore != 0:
		return nil, tool.Errorf(op, tool.Invalid, "a minimum score says nothing without a model").
			WithHint("name the model, as openai/gpt-5.4-nano")
	case f.Model != "" && s == nil:
		return nil, noScores(op)
	case f.Model != "":
		if _, _, err := llmtool.SplitModel(f.Model); err != nil {
			return nil, err
		}
	}
	found := []*tool.Tool{}
	for _, t := range all {
		if f.selects(t) && (f.Model == "" || reaches(t, f.Model, f.MinScore, s)) {
			found = append(found, t)
		}
	}
	return found, nil
}

func (f Filter) selects(t *tool.Tool) bool {
	return (f.Namespace == "" || t.ID.Namespace == f.Namespace) &&
		(f.Prefix == "" || strings.HasPrefix(t.ID.String(), f.Prefix)) &&
		(f.Tag == "" || slices.Contains(t.Spec.Tags, f.Tag))
}

func reaches(t *tool.Tool, model string, min float64, s Scores) bool {
	score, measured := scoresOf(t, s)[model]
	return measured && score >= cmp.Or(min, DefaultScore)
}

// scoresOf returns what was measured of models at a tool, under its ID or an ID that is an alias of it. What is
// said of its own ID goes first.
func scoresOf(t *tool.Tool, s Scores) map[string]float64 {
	all := maps.Clone(s.Scores(t.ID))
	for _, alias := range t.Spec.Aliases {
		id, ok := tool.TryParseID(alias)
		if !ok {
			continue
		}
		for model, score := range s.Scores(id) {
			if _, known := all[model]; known {
				continue
			}
			if all == nil {
				all = map[string]float64{}
			}
			all[model] = score
		}
	}
	return all
}

// ModelScore is a model, and how good it was measured to be.
type ModelScore struct {
	Model string  `json:"model"` // provider/model
	Score float64 `json:"score"` // 0 to 100
}

// ModelsFor returns the models that reach a score at a tool, best first; min 0: DefaultScore.
func ModelsFor(t *tool.Tool, s Scores, min float64) ([]ModelScore, error) {
	const op = "toolcatalog.ModelsFor"
	if err := checkScore(op, min); err != nil {
		return nil, err
	}
	if s == nil {
		return nil, noScores(op)
	}
	all := []ModelScore{}
	for model, score := range scoresOf(t, s) {
		if score >= cmp.Or(min, DefaultScore) {
			all = append(all, ModelScore{model, score})
		}
	}
	slices.SortFunc(all, func(a, b ModelScore) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), strings.Compare(a.Model, b.Model))
	})
	return all, nil
}

func checkScore(op string, score float64) error {
	if score < 0 || score > 100 || math.IsNaN(score) {
		return tool.Errorf(op, tool.Invalid, "the score %v is not from 0 to 100", score)
	}
	return nil
}

func noScores(op string) error {
	return tool.Errorf(op, tool.Invalid, "nothing was measured of models, so none can be asked for").
		WithHint("measure them with callgate bench llm, or give the catalog its Scores")
}
