package http

import (
	_ "embed"
	nethttp "net/http"

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

func headTool(d *desk) definition {
	return definition{
		name: "head", short: "HttpHead", doc: headDoc, input: headInput, output: responseOutput,
		examples: []tool.Example{
			example("how large a file is", `{"url": "https://example.com/archive.zip"}`),
			example("where a short link leads", `{"url": "https://example.com/go/1", "follow_redirects": false}`),
		},
		aliases: []string{
			"http_head", "curl -I", "requests.head",
			"check a URL", "look at response headers", "size of a remote file", "does a URL exist", "where does a link lead",
			"vérifier une URL", "voir les en-têtes", "taille d'un fichier distant", "envoyer une requête HEAD",
		},
		tags:    []string{"http", "web", "head", "headers", "url", "network", "en-têtes", "réseau"},
		runtime: tool.Runtime{Risk: tool.Low, SideEffect: tool.Read, Idempotent: true, Timeout: requestTime},
		handler: handler(d, "head", asking(nethttp.MethodHead)),
	}
}
