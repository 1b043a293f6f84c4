package http

import (
	_ "embed"
	nethttp "net/http"

	"callgate/internal/module"
	"callgate/internal/module/fetch"
	"callgate/tool"
)

//go:embed post.md
var postDoc string

const postInput = `{
  "type": "object",
  "properties": {` + urlParameters + `,` + bodyParameters + `,` + limitParameters + `
  },
  "required": ["url"],
  "additionalProperties": false
}`

func postTool(p *clientPool) definition {
	return definition{
		Name: "post", Short: "HttpPost", Doc: postDoc, Input: postInput, Output: responseOutput,
		Examples: []tool.Example{
			module.Example("create something",
				`{"url": "https://api.example.com/v1/issues", "json": {"title": "The door sticks", "labels": ["bug"]}}`),
			module.Example("submit a form", `{"url": "https://example.com/search", "form": {"q": "hinges", "page": 2}}`),
			module.Example("a body of another kind",
				`{"url": "https://example.com/rpc", "headers": {"Content-Type": "application/xml"}, "body": "<ping/>"}`),
		},
		Aliases: []string{
			"http_post", "curl -X POST", "requests.post", "api_post", "webhook",
			"send a POST request", "submit a form", "create a resource", "send JSON to an API", "call a webhook",
			"GraphQL query",
			"envoyer une requête POST", "envoyer un formulaire", "créer une ressource", "envoyer du JSON", "appeler un webhook",
		},
		Tags: []string{
			"http", "web", "api", "rest", "post", "json", "form", "webhook", "network", "requête", "formulaire",
		},
		Runtime: tool.Runtime{
			Effects: []tool.Effect{fetch.OnHost(tool.IX)},
			Risk:    tool.Medium, SideEffect: tool.External, Timeout: fetch.RequestTime,
		},
		Handler: handler(p, "post", sendAs(nethttp.MethodPost)),
	}
}
