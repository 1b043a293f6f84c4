package http

import (
	_ "embed"
	nethttp "net/http"

	"callgate/internal/module"
	"callgate/internal/module/fetch"
	"callgate/tool"
)

//go:embed put.md
var putDoc string

const putInput = `{
  "type": "object",
  "properties": {` + urlParameters + `,` + bodyParameters + `,` + limitParameters + `
  },
  "required": ["url"],
  "additionalProperties": false
}`

func putTool(p *clientPool) definition {
	return definition{
		Name: "put", Short: "HttpPut", Doc: putDoc, Input: putInput, Output: responseOutput,
		Examples: []tool.Example{
			module.Example("replace a record",
				`{"url": "https://api.example.com/v1/things/7", "json": {"name": "hinge", "size": 3}}`),
			module.Example("only if nobody changed it meanwhile",
				`{"url": "https://api.example.com/v1/things/7", "headers": {"If-Match": "\"33a64df5\""}, `+
					`"json": {"name": "hinge"}}`),
		},
		Aliases: []string{
			"http_put", "curl -X PUT", "requests.put", "api_put",
			"send a PUT request", "replace a resource", "update a record over an API", "store a value at a URL",
			"envoyer une requête PUT", "remplacer une ressource", "mettre à jour un enregistrement",
		},
		Tags: []string{"http", "web", "api", "rest", "put", "update", "json", "network", "requête"},
		Runtime: tool.Runtime{
			Effects: []tool.Effect{fetch.OnHost(tool.IX)},
			Risk:    tool.Medium, SideEffect: tool.External, Timeout: fetch.RequestTime,
		},
		Handler: handler(p, "put", sendAs(nethttp.MethodPut)),
	}
}
