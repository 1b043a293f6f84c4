package mcpresult

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/gate/schema"
	"callgate/internal/question"
	"callgate/internal/resulttext"
	"callgate/tool"
)

// Call is the call whose result is written.
type Call struct {
	Version string // of the protocol that the client speaks
	// Output is the output schema that the client was shown for the tool; nil for
	// none.
	Output json.RawMessage
	// Names are the names of the tools as the client's model calls them; nil: their
	// dotted names.
	Names resulttext.Names
}

// FromTool writes a result for a client. Its content is what a model reads, in
// this order: the error, the tool's content, a link to the whole result, the
// warnings, and what was cut. link leads to the artifact of a result that has one.
func (c Call) FromTool(r *tool.Result, link sdk.Content) *sdk.CallToolResult {
	res := newResult(c.Version)
	res.IsError = r.Status != tool.Success && r.Status != tool.Waiting
	for _, part := range resulttext.Body(r, c.Names) {
		res.Content = append(res.Content, content(part))
	}
	if link != nil {
		res.Content = append(res.Content, link)
	}
	if ending := resulttext.Ending(r, c.Names); ending != "" {
		res.Content = append(res.Content, text(ending))
	}
	c.addStructured(res, r)
	return res
}

// addStructured adds the data to a result. Common clients show their model only
// the data if there are any. So data for which no output schema was shown are
// added only if the result says nothing else. A client that was shown an output
// schema takes a success without data for a failure: so its result always has
// data, and notes on data that were withheld, cut, or do not match the schema
// stand among them, under a field of our own.
func (c Call) addStructured(res *sdk.CallToolResult, r *tool.Result) {
	notes := len(r.Warnings) > 0 || r.ArtifactRef != "" || r.Cut != nil
	usable := isObject(r.Data) && (c.Output == nil || len(r.Warnings) == 0 || c.matchesOutput(r.Data))
	switch {
	case usable && !notes && (c.Output != nil || len(r.Content) == 0):
		res.StructuredContent = r.Data
	case c.Output == nil || res.IsError:
	case usable:
		res.StructuredContent = c.withNotes(r)
	default:
		res.StructuredContent = map[string]any{ownField: c.newSideInfo(r)}
	}
}

func (c Call) matchesOutput(data json.RawMessage) bool {
	s, err := schema.Compile(c.Output)
	return err == nil && s.CheckResult(data) == nil
}

// withNotes adds the notes on a result to its data.
func (c Call) withNotes(r *tool.Result) any {
	var data map[string]json.RawMessage
	note, err := json.Marshal(c.newSideInfo(r))
	if err != nil || json.Unmarshal(r.Data, &data) != nil || data[ownField] != nil {
		return r.Data
	}
	data[ownField] = note
	return data
}

// ownField is the field of structured content that is ours.
const ownField = "callgate"

// sideInfo is what a client reads beside data, or in place of them.
type sideInfo struct {
	Status      tool.Status `json:"status"`
	Summary     string      `json:"summary"`
	ArtifactRef string      `json:"artifact_ref,omitempty"`
	Notes       []string    `json:"notes,omitempty"`
}

func (c Call) newSideInfo(r *tool.Result) sideInfo {
	s := sideInfo{r.Status, r.Summary, r.ArtifactRef, r.Warnings}
	if line := resulttext.CutLine(r.Cut, c.Names); line != "" {
		s.Notes = append([]string{line}, s.Notes...)
	}
	return s
}

// ScriptWaits begins the summary of a script that waits for a human.
const ScriptWaits = "the script waits for a human, for "

// Waiting says that a human must approve the call elsewhere, and how the client
// gets its result then.
func (c Call) Waiting(r *tool.Result) *sdk.CallToolResult {
	res := newResult(c.Version)
	why := "approval"
	if strings.HasPrefix(r.Approval, question.IDPrefix) {
		why = "an answer"
	}
	message := fmt.Sprintf("waiting for "+why+": %s. Nothing has run yet. "+
		"A human must answer it, outside this conversation: tell the user that it waits, as %s. "+
		"Then call approvals.collect with {\"approval\":\"%s\"} to get its result, "+
		"or repeat the same call with the same arguments.",
		strings.TrimSpace(cutHowToGoOn(r.Summary)), r.Approval, r.Approval)
	if strings.HasPrefix(r.Summary, ScriptWaits) {
		message = fmt.Sprintf("waiting for approval: %s. What the script did before that stays done. "+
			"A human must answer, outside this conversation: tell the user that it waits, as %s. "+
			"Then repeat the same call with the same arguments: it goes on where it is, and gives its result.",
			r.Summary, r.Approval)
	}
	res.Content = append(res.Content, text(message))
	if c.Output != nil {
		res.StructuredContent = map[string]any{ownField: sideInfo{Status: tool.Waiting, Summary: message}}
	}
	return res
}

// cutHowToGoOn removes the hint on how to go on from a summary, because Waiting
// gives a longer one.
func cutHowToGoOn(summary string) string {
	if i := strings.Index(summary, " (a human must answer;"); i >= 0 {
		return summary[:i]
	}
	return summary
}

func isObject(data json.RawMessage) bool {
	data = bytes.TrimLeft(data, " \t\r\n")
	return len(data) > 0 && data[0] == '{'
}
