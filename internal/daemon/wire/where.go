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
	level := protocol.LevelProject
	if f.IsUser {
		level = protocol.LevelUser
	}
	return protocol.FileParts{
		Path: f.Path, Level: level, Servers: f.Servers, Agents: f.Agents, Skills: f.Skills,
		Modules: f.Modules, Rules: f.Rules, Waits: f.Waits,
	}
}
