package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/daemon/mcpserver/mcpresult"
	"callgate/tool"
)

// toMCP writes a result in the protocol's words. What a model is to read is
// content, in this order: what went wrong, what the tool says, where the whole
// of it is, and what else there is to know.
func (g *client) toMCP(req *sdk.CallToolRequest, r *tool.Result) *sdk.CallToolResult {
	res := mcpresult.NewResult(req.ProtocolVersion())
	res.IsError = r.Status != tool.Success && r.Status != tool.Waiting
	if r.Error != nil {
		res.Content = append(res.Content, mcpresult.Text(mcpresult.ErrorText(r.Error)))
	}
	for _, c := range r.Content {
		res.Content = append(res.Content, mcpresult.Content(c))
	}
	switch {
	case len(res.Content) > 0:
	case len(r.Data) > 0:
		res.Content = append(res.Content, mcpresult.Text(string(r.Data)))
	default:
		res.Content = append(res.Content, mcpresult.Text(r.Summary))
	}
	if r.ArtifactRef != "" {
		g.allowArtifact(r.ArtifactRef)
		res.Content = append(res.Content, artifactLink(r))
	}
	if len(r.Warnings) > 0 {
		res.Content = append(res.Content, mcpresult.Text("note: "+strings.Join(r.Warnings, "\nnote: ")))
	}
	g.addStructured(res, req.Params.Name, r)
	return res
}

// addStructured adds the data to a result. The common clients show their model
// nothing but the data where there are any, so data that were not promised go
// only where nothing is said beside them. A client that was promised data takes
// a success without any for a failure: what is said beside them is put among
// them, under a name of our own, and so is word of data that are kept back, cut,
// or not what was promised.
func (g *client) addStructured(res *sdk.CallToolResult, name string, r *tool.Result) {
	promised := g.outputSchema(name)
	beside := len(r.Warnings) > 0 || r.ArtifactRef != ""
	kept := isObject(r.Data) && (promised == nil || len(r.Warnings) == 0 || g.matchesSchema(promised, r.Data))
	switch {
	case kept && !beside && (promised != nil || len(r.Content) == 0):
		res.StructuredContent = r.Data
	case promised == nil || res.IsError:
	case kept:
		res.StructuredContent = withNotes(r)
	default:
		res.StructuredContent = map[string]any{ownField: sideInfo{r.Status, r.Summary, r.ArtifactRef, r.Warnings}}
	}
}

// withNotes is data with what there is to know beside them.
func withNotes(r *tool.Result) any {
	var data map[string]json.RawMessage
	note, err := json.Marshal(sideInfo{r.Status, r.Summary, r.ArtifactRef, r.Warnings})
	if err != nil || json.Unmarshal(r.Data, &data) != nil || data[ownField] != nil {
		return r.Data
	}
	data[ownField] = note
	return data
}

// ownField is the one field of structured content that is ours.
const ownField = "callgate"

// sideInfo is what a client is told in place of data.
type sideInfo struct {
	Status      tool.Status `json:"status"`
	Summary     string      `json:"summary"`
	ArtifactRef string      `json:"artifact_ref,omitempty"`
	Notes       []string    `json:"notes,omitempty"`
}

// waitingResult tells that a human must approve a call elsewhere.
func (g *client) waitingResult(req *sdk.CallToolRequest, r *tool.Result) *sdk.CallToolResult {
	res := mcpresult.NewResult(req.ProtocolVersion())
	words := fmt.Sprintf("waiting for approval: %s. Nothing has run yet. A human answers with `callgate approvals approve %s` (or `deny`). Then call approvals.collect with {\"approval\":\"%s\"} to get its result, or repeat the same call with the same arguments.",
		strings.TrimSpace(cutAnswer(r.Summary)), r.Approval, r.Approval)
	res.Content = append(res.Content, mcpresult.Text(words))
	if g.outputSchema(req.Params.Name) != nil {
		res.StructuredContent = map[string]any{ownField: sideInfo{Status: tool.Waiting, Summary: words}}
	}
	return res
}

// cutAnswer takes off how to answer, which is said in full beside it.
func cutAnswer(summary string) string {
	if i := strings.Index(summary, " (answer with:"); i >= 0 {
		return summary[:i]
	}
	return summary
}

func isObject(data json.RawMessage) bool {
	data = bytes.TrimLeft(data, " \t\r\n")
	return len(data) > 0 && data[0] == '{'
}

// failed is a result that tells of an error of our own.
func failed(op string, err error) *tool.Result {
	e := asError(op, err)
	return &tool.Result{Status: tool.Failure, Summary: e.Error(), Error: e}
}

func asError(op string, err error) *tool.Error {
	var e *tool.Error
	if errors.As(err, &e) {
		return e
	}
	return &tool.Error{Op: op, Kind: tool.Internal, Message: err.Error(), Err: err}
}

// refusal is an error as the protocol writes it.
func refusal(err error) error {
	var known *jsonrpc.Error
	if errors.As(err, &known) {
		return known
	}
	e := asError("mcpserver", err)
	code := int64(jsonrpc.CodeInternalError)
	switch e.Kind {
	case tool.Invalid, tool.NotFound, tool.Ambiguous, tool.Denied:
		code = jsonrpc.CodeInvalidParams
	}
	return &jsonrpc.Error{Code: code, Message: e.Error()}
}
