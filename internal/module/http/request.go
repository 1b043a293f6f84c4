package http

import (
	_ "embed"

	"callgate/tool"
)

//go:embed request.md
var requestDoc string

const requestInput = `{
  "type": "object",
  "properties": {
    "method": {"type": "string", "pattern": "^[A-Za-z]{1,20}$", "description": "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, or another that the server knows."},` + urlParameters + `,` + bodyParameters + `,` + limitParameters + `
  },
  "required": ["method", "url"],
  "additionalProperties": false
}`

func requestTool(d *desk) definition {
	return definition{
		name: "request", short: "HttpRequest", doc: requestDoc, input: requestInput, output: responseOutput,
		examples: []tool.Example{
			example("what a server allows", `{"method": "OPTIONS", "url": "https://api.example.com/v1/things"}`),
			example("list a WebDAV folder", `{"method": "PROPFIND", "url": "https://dav.example.com/files/", "headers": {"Depth": "1", "Content-Type": "application/xml"}, "body": "<propfind xmlns='DAV:'><allprop/></propfind>"}`),
		},
		aliases: []string{
			"http_request", "send_request", "curl -X", "requests.request", "http_call",
			"send an HTTP request", "any HTTP method", "OPTIONS request", "WebDAV request",
			"envoyer une requête HTTP", "requête personnalisée", "méthode HTTP quelconque",
		},
		tags:    []string{"http", "web", "api", "rest", "options", "method", "network", "requête"},
		runtime: tool.Runtime{Risk: tool.High, SideEffect: tool.External, Timeout: requestTime},
		handler: handler(d, "request", ask),
	}
}
