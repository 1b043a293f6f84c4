package wire

import (
	"callgate/internal/kernel/questions"
	"callgate/internal/protocol"
)

// Question converts what an agent asks.
func Question(r questions.Request) protocol.Question {
	return protocol.Question{
		ID: r.ID, State: protocol.QuestionState(r.State), Question: r.Question, Call: r.Call, Principal: r.Principal,
		Workspace: r.Workspace, AppFile: r.AppFile, Asker: protocol.Requester(r.Asker), AskedAt: r.AskedAt,
		Deadline: r.Deadline, Given: r.Given, By: r.By, At: r.At,
	}
}
