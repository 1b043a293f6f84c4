package remote

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"callgate/internal/app/llmtools"
	"callgate/internal/app/node"
	"callgate/tool"
)

// asWritten fills in no variables: a catalog knows nothing of this machine.
type asWritten struct{}

// Expand returns the text.
func (asWritten) Expand(_ *node.Reader, _ node.Entry, text string) (string, bool) { return text, true }

// parse reads the definitions of a catalog, with the digest of each. One that cannot be used is an error
// of the whole. Each is read as a file of its own, so a catalog is larger than an app file may be.
func parse(file string, data []byte) ([]*tool.Tool, map[tool.ID]string, error) {
	const op, form = "remote.parse", `write {"tools": [{"id": "acme:triage@1.0.0", "description": …, "user_template": …}]}`
	var in struct {
		Name  string            `json:"name"`
		Tools []json.RawMessage `json:"tools"`
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	err := d.Decode(&in)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("there is more behind it")
		}
	}
	switch {
	case err != nil:
		return nil, nil, tool.Errorf(op, tool.Invalid, "%s is no catalog: %v", file, err).WithHint("%s", form)
	case len(in.Tools) > maxTools:
		return nil, nil, tool.Errorf(op, tool.Invalid, "%s has %d tools, of at most %d", file, len(in.Tools), maxTools).
			WithHint("make several catalogs of it")
	}
	tools, digests := []*tool.Tool{}, map[tool.ID]string{}
	for i, raw := range in.Tools {
		r, root, ok := node.Open(fmt.Sprintf("%s: tools[%d]", file, i), raw, node.Keys{}, asWritten{})
		if !ok {
			return nil, nil, node.Err(r.Report)
		}
		t, ok := llmtools.ReadTool(r, root)
		switch {
		case !ok || node.Err(r.Report) != nil:
			return nil, nil, node.Err(r.Report)
		case digests[t.ID] != "":
			return nil, nil, tool.Errorf(op, tool.Invalid, "%s has two tools %s", file, t.ID).
				WithHint("give one of them another version")
		}
		tools, digests[t.ID] = append(tools, t.Tool), t.Digest
	}
	return tools, digests, nil
}
