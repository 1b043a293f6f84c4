package control

import (
	"context"
	"fmt"

	"callgate/tool"
)

// FeatureProposals is the feature of the tools that propose: they are offered where there
// is an app file that could be changed.
const FeatureProposals = "proposals"

// Proposed is a proposal that is stored.
type Proposed struct {
	ID    string `json:"proposal_id"`
	State string `json:"state"`
	Title string `json:"title"`
}

// Proposer stores proposals.
type Proposer interface {
	// Propose stores what a call proposes. Asked again, it answers with what it stored.
	Propose(ctx context.Context, call tool.Call, kind string) (Proposed, error)
}

// What is rarely wished for is hidden, and taken all the same.
const (
	proposeToolText = "Propose a new tool. A human decides, and writes its program; nothing changes now, and you " +
		"are told how it ends."
	proposeSkillText  = "Propose a skill, a text that teaches agents how something is done. A human decides; you are told."
	proposeConfigText = "Propose changes of the app file, such as a rule that asks too often. A human decides; " +
		"you are told."

	reasonSchema = `"reason":{"type":"string","minLength":1,"maxLength":2000}`

	proposeToolSchema = `{"type":"object","properties":{
		"name":{"type":"string","maxLength":100,"description":"module.action"},
		"description":{"type":"string","minLength":1,"maxLength":8000},
		"parameters":{"type":"object"},
		"side_effect":{"type":"string","enum":["none","read","write","external"],"x-hidden":true},
		"network":{"type":"boolean","x-hidden":true},
		"idempotent":{"type":"boolean","x-hidden":true},
		"timeout_ms":{"type":"integer","minimum":1,"maximum":86400000,"x-hidden":true},
		"locks":{"type":"array","items":{"type":"object"},"maxItems":20,"x-hidden":true},
		` + reasonSchema + `},"required":["name","description","parameters","reason"],"additionalProperties":false}`
	proposeSkillSchema = `{"type":"object","properties":{
		"name":{"type":"string","maxLength":64},
		"description":{"type":"string","minLength":1,"maxLength":1024},
		"content":{"type":"string","maxLength":49152},
		"states":{"type":"object","x-hidden":true},
		"initial_state":{"type":"string","maxLength":64,"x-hidden":true},
		"place":{"type":"string","enum":["project","user"],"x-hidden":true},
		` + reasonSchema + `},"required":["name","description","reason"],"additionalProperties":false}`
	proposeConfigSchema = `{"type":"object","properties":{
		"changes":{"type":"array","minItems":1,"maxItems":50,"items":{"type":"object","properties":{
			"path":{"type":"string","maxLength":500,"description":"runtime.max_turns"},
			"value":{"description":"null takes the key out"}},
			"required":["path"],"additionalProperties":false}},
		` + reasonSchema + `},"required":["changes","reason"],"additionalProperties":false}`
)

// ProposalTools makes propose_tool, propose_skill and propose_config_change.
func ProposalTools(p Proposer) []*tool.Tool {
	var all []*tool.Tool
	for _, t := range []struct{ kind, text, schema string }{
		{"tool", proposeToolText, proposeToolSchema},
		{"skill", proposeSkillText, proposeSkillSchema},
		{"config_change", proposeConfigText, proposeConfigSchema},
	} {
		run := func(ctx context.Context, call tool.Call, _ tool.Grant) (*tool.Result, error) {
			made, err := p.Propose(ctx, call, t.kind)
			if err != nil {
				return nil, err
			}
			const text = "%s is %s: a human decides on it, and nothing has changed. You are told how it ends; go on meanwhile"
			return tool.OK(fmt.Sprintf(text, made.ID, made.State), made)
		}
		one := define(Namespace, "propose_"+t.kind, t.text, t.schema, run)
		one.Spec.Aliases = []string{"choir.propose." + t.kind, "propose_" + t.kind + "_change"}
		one.Runtime.Feature, one.Runtime.Occasional = FeatureProposals, true
		all = append(all, one)
	}
	all[2].Spec.Aliases = []string{"choir.propose.config_change", "propose_config"}
	all[2].Runtime.ParamAliases = []tool.ParamAlias{{Name: "patch", Param: "changes"}, {Name: "edits", Param: "changes"}}
	return all
}
