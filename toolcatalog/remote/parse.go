package remote

import (
	"callgate/internal/app/llmtools"
	"callgate/internal/app/node"
	"callgate/tool"
)

// asWritten fills in no variables: a catalog knows nothing of this machine.
type asWritten struct{}

// Expand returns the text.
func (asWritten) Expand(_ *node.Reader, _ node.Entry, text string) (string, bool) { return text, true }

// parse reads the definitions of a catalog, with the digest of each. One that cannot be used is an error
// of the whole.
func parse(file string, data []byte) ([]*tool.Tool, map[tool.ID]string, error) {
	const form = `write {"tools": [{"id": "acme:triage@1.0.0", "description": …, "user_template": …}]}`
	r, root, ok := node.Open(file, data, node.Keys{}, asWritten{})
	if !ok {
		return nil, nil, node.Err(r.Report)
	}
	tools, digests := []*tool.Tool{}, map[tool.ID]string{}
	r.Mapping("catalog", root, map[string]node.Read{
		"name": func(node.Entry) {},
		"tools": func(in node.Entry) {
			items := r.Items(in, "a list of tools", form)
			if len(items) > maxTools {
				r.Fail(in.At, "make several catalogs of it", "there are %d tools, of at most %d", len(items), maxTools)
				return
			}
			for _, one := range items {
				t, ok := llmtools.ReadTool(r, one)
				switch {
				case !ok:
				case digests[t.ID] != "":
					r.Fail(one.At, "give one of them another version", "there are two tools %s", t.ID)
				default:
					digests[t.ID] = t.Digest
					tools = append(tools, t.Tool)
				}
			}
		},
	})
	return tools, digests, node.Err(r.Report)
}
