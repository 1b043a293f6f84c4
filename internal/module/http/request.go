package http

import (
	_ "embed"

	"callgate/internal/module"
	"callgate/internal/module/fetch"
	"callgate/tool"
)

//go:embed request.md
var requestDoc string

const requestInput = `{
  "type": "object",
  "properties": {
    "method": {"type": "string", "pattern": "^[A-Za-z]{1,20}$",
      "description": "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, or another that the server knows."},` +
	urlParameters + `,` + bodyParameters + `,` + limitParameters + `
  },
  "required": ["method", "url"],
  "additionalProperties": false
}`

func requestTool(p *clientPool) definition {
	return definition{
		Name: "request", Short: "HttpRequest", Doc: requestDoc, Input: requestInput, Output: responseOutput,
		Examples: []tool.Example{
			module.Example("what a server allows", `{"method": "OPTIONS", "url": "https://api.example.com/v1/things"}`),
			module.Example("list a WebDAV folder",
				`{"method": "PROPFIND", "url": "https://dav.example.com/files/", "headers": {"Depth": "1", `+
					`"Content-Type": "application/xml"}, "body": "<propfind xmlns='DAV:'><allprop/></propfind>"}`),
		},
		Aliases: []string{
			"http_request", "send_request", "curl -X", "requests.request", "http_call",
			"send an HTTP request", "any HTTP method", "OPTIONS request", "WebDAV request",
			"envoyer une requête HTTP", "requête personnalisée", "méthode HTTP quelconque",
		},
		Tags: []string{"http", "web", "api", "rest", "options", "method", "network", "requête"},
		Runtime: tool.Runtime{
			Effects: []tool.Effect{fetch.OnHost(tool.IX)},
			Risk:    tool.High, SideEffect: tool.External, Timeout: fetch.RequestTime,
		},
		Handler: handler(p, "request", send),
	}
}
