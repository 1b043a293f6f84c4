package http

import (
	_ "embed"
	nethttp "net/http"

	"callgate/internal/module"
	"callgate/internal/module/fetch"
	"callgate/tool"
)

//go:embed patch.md
var patchDoc string

const patchInput = `{
  "type": "object",
  "properties": {` + urlParameters + `,` + bodyParameters + `,` + limitParameters + `
  },
  "required": ["url"],
  "additionalProperties": false
}`

func patchTool(p *clientPool) definition {
	return definition{
		Name: "patch", Short: "HttpPatch", Doc: patchDoc, Input: patchInput, Output: responseOutput,
		Examples: []tool.Example{
			module.Example("change one field", `{"url": "https://api.example.com/v1/issues/12", "json": {"state": "closed"}}`),
			module.Example("a list of operations",
				`{"url": "https://api.example.com/v1/things/7", "headers": {"Content-Type": "application/json-patch+json"}, `+
					`"json": [{"op": "replace", "path": "/size", "value": 4}]}`),
		},
		Aliases: []string{
			"http_patch", "curl -X PATCH", "requests.patch", "api_patch",
			"send a PATCH request", "update some fields", "change part of a resource", "partial update",
			"envoyer une requête PATCH", "modifier une ressource", "mise à jour partielle",
		},
		Tags: []string{"http", "web", "api", "rest", "patch", "update", "json", "network", "requête"},
		Runtime: tool.Runtime{
			Effects: []tool.Effect{fetch.OnHost(tool.IX)},
			Risk:    tool.Medium, SideEffect: tool.External, Timeout: fetch.RequestTime,
		},
		Handler: handler(p, "patch", sendAs(nethttp.MethodPatch)),
	}
}
