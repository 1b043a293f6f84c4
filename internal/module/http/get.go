package http

import (
	_ "embed"
	nethttp "net/http"

	"callgate/internal/module"
	"callgate/internal/module/fetch"
	"callgate/tool"
)

//go:embed get.md
var getDoc string

const getInput = `{
  "type": "object",
  "properties": {` + urlParameters + `,` + limitParameters + `
  },
  "required": ["url"],
  "additionalProperties": false
}`

func getTool(p *clientPool) definition {
	return definition{
		Name: "get", Short: "HttpGet", Doc: getDoc, Input: getInput, Output: responseOutput,
		Examples: []tool.Example{
			module.Example("a JSON API",
				`{"url": "https://api.example.com/v1/orders", "query": {"status": "open", "limit": 20}}`),
			module.Example("with a header, and no longer than five seconds",
				`{"url": "https://example.com/data.csv", "headers": {"Accept": "text/csv"}, "timeout_seconds": 5}`),
		},
		Aliases: []string{
			"http_get", "curl", "fetch_url", "requests.get", "api_get",
			"call an API", "get a URL", "send a GET request", "query a web service", "read a JSON endpoint", "REST call",
			"check whether a site answers",
			"appeler une API", "envoyer une requête GET", "interroger un service web", "récupérer une URL",
			"lire une adresse web",
		},
		Tags: []string{"http", "web", "api", "rest", "get", "json", "url", "network", "réseau", "requête"},
		Runtime: tool.Runtime{
			Effects: []tool.Effect{fetch.OnHost(tool.IS)},
			Risk:    tool.Low, SideEffect: tool.Read, Idempotent: true, Timeout: fetch.RequestTime,
		},
		Handler: handler(p, "get", sendAs(nethttp.MethodGet)),
	}
}
