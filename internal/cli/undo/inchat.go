package undo

import (
	"context"
	"strconv"
	"strings"

	"callgate/internal/cli/command"
	"callgate/internal/protocol"
	"callgate/tool"
)

// InChat does what a line of a chat asks for that is /undo or /rewind, and reports whether
// it is: alone, with the number of a turn, redo, list, skip or force.
func InChat(ctx context.Context, e *command.Env, k *command.Kernel, conversation, line string) (bool, error) {
	words := strings.Fields(line)
	if len(words) == 0 || words[0] != "/undo" && words[0] != "/rewind" {
		return false, nil
	}
	u := &undo{Env: e, target: protocol.UndoTarget{Conversation: conversation}}
	if u.request.Rewind = words[0] == "/rewind"; u.request.Rewind {
		u.target.Turn = protocol.LastTurn
	}
	for _, word := range words[1:] {
		n, err := strconv.Atoi(word)
		switch {
		case word == "redo" && !u.request.Rewind:
			u.target.Redo = true
		case word == "list" && !u.request.Rewind:
			return true, u.runList(ctx, k)
		case word == "skip":
			u.request.Skip = true
		case word == "force":
			u.request.Force = true
		case err == nil && n > 0:
			u.target.Turn = n
		default:
			return true, tool.Errorf(op, tool.Invalid, "%s does not know %q", words[0], tool.Truncate(word)).
				WithHint("the number of a turn, redo, list, skip or force may follow it")
		}
	}
	return true, u.show(ctx, k)
}
