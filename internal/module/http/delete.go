package http

import (
	_ "embed"
	nethttp "net/http"

	"callgate/internal/module"
	"callgate/internal/module/fetch"
	"callgate/tool"
)

//go:embed delete.md
var deleteDoc string

const deleteInput = `{
  "type": "object",
  "properties": {` + urlParameters + `,` + bodyParameters + `,` + limitParameters + `
  },
  "required": ["url"],
  "additionalProperties": false
}`

func deleteTool(p *clientPool) definition {
	return definition{
		Name: "delete", Short: "HttpDelete", Doc: deleteDoc, Input: deleteInput, Output: responseOutput,
		Examples: []tool.Example{
			module.Example("delete one thing", `{"url": "https://api.example.com/v1/things/7"}`),
		},
		Aliases: []string{
			"http_delete", "curl -X DELETE", "requests.delete", "api_delete",
			"send a DELETE request", "delete a resource over an API", "remove a record from a web service",
			"envoyer une requête DELETE", "supprimer une ressource", "effacer un enregistrement par une API",
		},
		Tags: []string{"http", "web", "api", "rest", "delete", "remove", "network", "requête", "suppression"},
		Runtime: tool.Runtime{
			Effects: []tool.Effect{fetch.OnHost(tool.IX)},
			Risk:    tool.High, SideEffect: tool.External, Timeout: fetch.RequestTime,
		},
		Handler: handler(p, "delete", sendAs(nethttp.MethodDelete)),
	}
}
