package wire

import (
	"callgate/internal/kernel/apps"
	"callgate/internal/protocol"
)

// Where converts which app files are in force.
func Where(w apps.Where) *protocol.Where {
	return &protocol.Where{Search: w.Search, Wins: w.Wins, Files: orNil(w.Files, fileParts)}
}

func fileParts(f apps.FileParts) protocol.FileParts {
	return protocol.FileParts{
		Path: f.Path, Level: level(f.IsUser), Servers: f.Servers, Agents: f.Agents, Skills: f.Skills,
		Profiles: f.Profiles, APIs: f.APIs,
		Modules: f.Modules, Rules: f.Rules, Waits: f.Waits,
	}
}

func level(isUser bool) string {
	if isUser {
		return protocol.LevelUser
	}
	return protocol.LevelProject
}
