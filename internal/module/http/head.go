package http

import (
	_ "embed"
	nethttp "net/http"

	"callgate/internal/module"
	"callgate/internal/module/fetch"
	"callgate/tool"
)

//go:embed head.md
var headDoc string

const headInput = `{
  "type": "object",
  "properties": {` + urlParameters + `,` + limitParameters + `
  },
  "required": ["url"],
  "additionalProperties": false
}`

func headTool(p *clientPool) definition {
	return definition{
		Name: "head", Short: "HttpHead", Doc: headDoc, Input: headInput, Output: responseOutput,
		Examples: []tool.Example{
			module.Example("how large a file is", `{"url": "https://example.com/archive.zip"}`),
			module.Example("where a short link leads", `{"url": "https://example.com/go/1", "follow_redirects": false}`),
		},
		Aliases: []string{
			"http_head", "curl -I", "requests.head",
			"check a URL", "look at response headers", "size of a remote file", "does a URL exist", "where does a link lead",
			"vérifier une URL", "voir les en-têtes", "taille d'un fichier distant", "envoyer une requête HEAD",
		},
		Tags: []string{"http", "web", "head", "headers", "url", "network", "en-têtes", "réseau"},
		Runtime: tool.Runtime{
			Effects: []tool.Effect{fetch.OnHost(tool.IS)},
			Risk:    tool.Low, SideEffect: tool.Read, Idempotent: true, Timeout: fetch.RequestTime,
		},
		Handler: handler(p, "head", sendAs(nethttp.MethodHead)),
	}
}
