package langserver

import (
	"encoding/json"

	"callgate/internal/module/lsp/jsonrpc"
)

// ours is what a server is told that we can do. Positions are counted in UTF-16, as every
// server can.
const ours = `{
  "general": {"positionEncodings": ["utf-16"]},
  "window": {"workDoneProgress": true},
  "workspace": {
    "applyEdit": false, "workspaceFolders": true, "configuration": true,
    "workspaceEdit": {"documentChanges": true, "resourceOperations": ["create", "rename", "delete"]},
    "didChangeWatchedFiles": {"dynamicRegistration": true},
    "symbol": {}
  },
  "textDocument": {
    "synchronization": {"didSave": true},
    "publishDiagnostics": {"versionSupport": true, "relatedInformation": false},
    "diagnostic": {},
    "hover": {"contentFormat": ["markdown", "plaintext"]},
    "definition": {"linkSupport": false}, "typeDefinition": {}, "implementation": {}, "references": {},
    "documentSymbol": {"hierarchicalDocumentSymbolSupport": true},
    "callHierarchy": {}, "formatting": {},
    "rename": {"prepareSupport": false},
    "codeAction": {
      "dataSupport": true, "resolveSupport": {"properties": ["edit"]},
      "codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["", "quickfix", "refactor", "source"]}}
    }
  }
}`

// capabilities are what a server says that it can do.
type capabilities struct {
	Diagnostic any `json:"diagnosticProvider"`
	CodeAction any `json:"codeActionProvider"`
}

// ResolvesActions reports whether the server fills in the edit of an action when it is asked.
func (s *Server) ResolvesActions() bool {
	options, _ := s.can.CodeAction.(map[string]any)
	return options["resolveProvider"] == true
}

// request answers what a server asks. It changes nothing, and nobody is asked for anything.
func (s *Server) request(method string, params json.RawMessage) (any, *jsonrpc.Error) {
	switch method {
	case "workspace/configuration":
		return s.configuration(params), nil
	case "workspace/applyEdit":
		return map[string]any{"applied": false, "failureReason": "edits are proposed, never made by the server"}, nil
	case "workspace/workspaceFolders":
		return []any{map[string]any{"uri": URI(s.options.Run.Workspace), "name": "workspace"}}, nil
	case "window/showDocument":
		return map[string]any{"success": false}, nil
	case "client/registerCapability", "client/unregisterCapability", "window/workDoneProgress/create",
		"window/showMessageRequest", "workspace/diagnostic/refresh", "workspace/codeLens/refresh",
		"workspace/semanticTokens/refresh", "workspace/inlayHint/refresh":
		return nil, nil
	}
	return nil, &jsonrpc.Error{Code: jsonrpc.MethodNotFound, Message: "the client does not do this"}
}

// maxItems bounds the settings that a server asks for at once.
const maxItems = 100

// configuration are the settings for each section that is asked for: those of the app file, or
// none.
func (s *Server) configuration(params json.RawMessage) []any {
	var asked struct {
		Items []struct {
			Section string `json:"section"`
		} `json:"items"`
	}
	_ = json.Unmarshal(params, &asked) // none of them can be read: none are asked for
	settings, _ := s.options.Settings.(map[string]any)
	answers := make([]any, 0, min(len(asked.Items), maxItems))
	for _, item := range asked.Items[:min(len(asked.Items), maxItems)] {
		value, ok := settings[item.Section]
		if !ok && settings != nil && (item.Section == "" || item.Section == s.options.Name) {
			value = settings
		}
		answers = append(answers, value)
	}
	return answers
}

// notification takes what a server tells.
func (s *Server) notification(method string, params json.RawMessage) {
	switch method {
	case "textDocument/publishDiagnostics":
		s.publish(params)
	case "$/progress":
		s.progress(params)
	}
}

// maxBusy bounds the works of a server that are known at one time.
const maxBusy = 1000

// progress notes what a server is at.
func (s *Server) progress(params json.RawMessage) {
	var p struct {
		Token json.RawMessage `json:"token"`
		Value struct {
			Kind string `json:"kind"`
		} `json:"value"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch token := string(p.Token); {
	case p.Value.Kind == "begin" && len(s.busy) < maxBusy:
		s.busy[token] = true
	case p.Value.Kind == "end":
		delete(s.busy, token)
	default:
		return
	}
	s.tell()
}

// tell wakes those who wait for news. The caller has the lock.
func (s *Server) tell() {
	close(s.news)
	s.news = make(chan struct{})
}
