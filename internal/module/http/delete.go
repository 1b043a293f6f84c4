package http

import (
	_ "embed"
	nethttp "net/http"

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

func deleteTool(d *desk) definition {
	return definition{
		name: "delete", short: "HttpDelete", doc: deleteDoc, input: deleteInput, output: responseOutput,
		examples: []tool.Example{
			example("delete one thing", `{"url": "https://api.example.com/v1/things/7"}`),
		},
		aliases: []string{
			"http_delete", "curl -X DELETE", "requests.delete", "api_delete",
			"send a DELETE request", "delete a resource over an API", "remove a record from a web service",
			"envoyer une requête DELETE", "supprimer une ressource", "effacer un enregistrement par une API",
		},
		tags:    []string{"http", "web", "api", "rest", "delete", "remove", "network", "requête", "suppression"},
		runtime: tool.Runtime{Risk: tool.High, SideEffect: tool.External, Timeout: requestTime},
		handler: handler(d, "delete", asking(nethttp.MethodDelete)),
	}
}
