package acp

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/tool"
)

// session is one conversation that the editor has open.
type session struct {
	agent        *agent
	id           sdk.SessionId
	folder       string // that the editor named
	conversation *client.Conversation
	ctx          context.Context // ends when the conversation is left
	leaving      context.CancelCauseFunc
	turns        chan struct{}  // holds one token: who has it runs a turn
	work         sync.WaitGroup // what the session does by itself
	once         sync.Once

	mu   sync.Mutex
	halt context.CancelFunc // stops the turn that runs; nil: none does
	mode protocol.PermissionMode
}

func newSession(a *agent, c *client.Conversation) *session {
	s := &session{
		agent: a, id: sdk.SessionId(c.ID), conversation: c, turns: make(chan struct{}, 1), mode: c.Permissions.Mode,
	}
	s.ctx, s.leaving = context.WithCancelCause(a.ctx)
	return s
}

// introduceAfter is how long the answer that brings a session's ID is given to reach the
// editor, which drops what is said of a session that it does not know. The skills are
// told again with each prompt.
const introduceAfter = 100 * time.Millisecond

// begin tells the editor what it can offer its human, and attends the conversation.
func (s *session) begin(servers int) {
	s.once.Do(func() {
		s.work.Go(func() {
			select {
			case <-time.After(introduceAfter):
			case <-s.ctx.Done():
				return
			}
			s.offerSkills()
			if servers > 0 {
				s.say(fmt.Sprintf("Callgate does not start the %d MCP servers that the editor names: "+
					"a server runs when a person accepted it, behind the app (callgate mcp add, callgate mcp trust).", servers))
			}
			s.attend()
		})
	})
}

// offerSkills tells the editor which commands there are.
func (s *session) offerSkills() {
	commands := []sdk.AvailableCommand{}
	for _, skill := range s.conversation.Skills {
		commands = append(commands, sdk.AvailableCommand{
			Name: skill.Command, Description: skill.Description,
			Input: &sdk.AvailableCommandInput{Unstructured: &sdk.UnstructuredCommandInput{Hint: "what it is for"}},
		})
	}
	if len(commands) > 0 {
		s.update(sdk.SessionUpdate{AvailableCommandsUpdate: &sdk.SessionAvailableCommandsUpdate{AvailableCommands: commands}})
	}
}

// update sends an update, also for a turn that was stopped. An editor that is gone needs
// none.
func (s *session) update(u sdk.SessionUpdate) {
	_ = s.agent.editor.SessionUpdate(context.WithoutCancel(s.ctx), sdk.SessionNotification{SessionId: s.id, Update: u})
}

// say shows a line of Callgate's own.
func (s *session) say(text string) { s.update(sdk.UpdateAgentThoughtText(text + "\n")) }

// Prompt runs a turn with the user's words.
func (a *agent) Prompt(ctx context.Context, r sdk.PromptRequest) (sdk.PromptResponse, error) {
	s, err := a.session(r.SessionId)
	if err != nil {
		return sdk.PromptResponse{}, err
	}
	message, err := messageOf(r.Prompt)
	if err != nil {
		return sdk.PromptResponse{}, protocolError(err)
	}
	s.offerSkills()
	reason, err := s.turn(ctx, func(ctx context.Context) iter.Seq2[protocol.TurnEvent, error] {
		return s.conversation.KeepOn(ctx, &message)
	})
	return sdk.PromptResponse{StopReason: reason}, err
}

// turn runs a turn when no other one runs, and returns why it ended.
func (s *session) turn(
	ctx context.Context, events func(context.Context) iter.Seq2[protocol.TurnEvent, error],
) (sdk.StopReason, error) {
	running, halt := context.WithCancel(s.ctx)
	defer halt()
	defer context.AfterFunc(ctx, func() {
		select {
		case <-s.agent.editor.Done():
			s.leaving(client.ErrLeave) // the editor is gone: nobody said that the turn should stop
		default:
			halt()
		}
	})()
	select {
	case s.turns <- struct{}{}:
	case <-running.Done():
		return sdk.StopReasonCancelled, nil
	}
	defer func() { <-s.turns }()
	s.mu.Lock()
	s.halt = halt
	s.mu.Unlock()
	t := newTurn(running, s)
	defer t.close()
	for e, err := range events(running) {
		switch {
		case err != nil && running.Err() != nil:
			return sdk.StopReasonCancelled, nil
		case err != nil:
			return "", protocolError(err)
		}
		t.show(e)
		if e.End != nil {
			return t.ended(*e.End)
		}
	}
	return sdk.StopReasonEndTurn, nil
}

// stop stops the turn that runs, if one does.
func (s *session) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.halt != nil {
		s.halt()
	}
}

// leave closes the conversation. A turn that runs is interrupted, and can be resumed.
func (s *session) leave() {
	s.leaving(client.ErrLeave)
	s.turns <- struct{}{} // the turn has ended; no other one begins
	s.work.Wait()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), leaveTimeout)
	defer cancel()
	_ = s.conversation.Close(ctx) // the kernel sees that its client is gone
}

// leaveTimeout bounds how long a conversation that is left may take to close.
const leaveTimeout = 8 * time.Second

// attend has the conversation go on by itself when there is something that its model is
// to be told.
func (s *session) attend() {
	for news := range s.conversation.Attend(s.ctx) {
		if news.Held != "" {
			s.say(news.Held)
			continue
		}
		if _, err := s.turn(s.ctx, s.conversation.Wake); err != nil && s.ctx.Err() == nil {
			s.say("The conversation could not go on by itself: " + err.Error())
		}
	}
}

// modes are the permission modes.
func (s *session) modes() *sdk.SessionModeState {
	s.mu.Lock()
	defer s.mu.Unlock()
	current := s.mode
	if current == "" {
		current = protocol.ModeAsk
	}
	return &sdk.SessionModeState{CurrentModeId: sdk.SessionModeId(current), AvailableModes: []sdk.SessionMode{
		{Id: sdk.SessionModeId(protocol.ModeAsk), Name: "Ask", Description: sdk.Ptr("as the rules say")},
		{Id: sdk.SessionModeId(protocol.ModeAcceptEdits), Name: "Accept edits",
			Description: sdk.Ptr("changes of files in the workspace are not asked about")},
		{Id: sdk.SessionModeId(protocol.ModePlan), Name: "Plan", Description: sdk.Ptr("nothing that changes anything runs")},
	}}
}

// SetSessionMode changes the permission mode.
func (a *agent) SetSessionMode(ctx context.Context, r sdk.SetSessionModeRequest) (sdk.SetSessionModeResponse, error) {
	s, err := a.session(r.SessionId)
	if err != nil {
		return sdk.SetSessionModeResponse{}, err
	}
	now, err := s.conversation.SetPermissions(ctx, protocol.SetPermissions{
		Mode: protocol.PermissionMode(r.ModeId), Form: a.human(),
	})
	if err != nil {
		return sdk.SetSessionModeResponse{}, protocolError(err)
	}
	s.mu.Lock()
	s.mode = now.Mode
	s.mu.Unlock()
	return sdk.SetSessionModeResponse{}, nil
}

// human names who answers at the editor, for the journal.
func (a *agent) human() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.client
}

// optionModel is the option that chooses the model.
const optionModel = "model"

// options are what the human may choose beside the mode: the model, where there is a
// choice.
func (s *session) options(ctx context.Context) []sdk.SessionConfigOption {
	list, err := s.conversation.Models(ctx)
	if err != nil {
		return nil
	}
	var choices sdk.SessionConfigSelectOptionsUngrouped
	current := ""
	for _, m := range list {
		if m.Current {
			current = m.Name
		}
		if m.Problem == "" || m.Current {
			choices = append(choices, sdk.SessionConfigSelectOption{Name: m.Name, Value: sdk.SessionConfigValueId(m.Name)})
		}
	}
	if current == "" || len(choices) < 2 {
		return nil
	}
	o := sdk.NewSessionConfigOptionSelect(sdk.SessionConfigValueId(current),
		sdk.SessionConfigSelectOptions{Ungrouped: &choices})
	o.Select.Id, o.Select.Name = optionModel, "Model"
	o.Select.Category = sdk.Ptr(sdk.SessionConfigOptionCategoryModel)
	return []sdk.SessionConfigOption{o}
}

// SetSessionConfigOption changes the model.
func (a *agent) SetSessionConfigOption(
	ctx context.Context, r sdk.SetSessionConfigOptionRequest,
) (sdk.SetSessionConfigOptionResponse, error) {
	if r.ValueId == nil || r.ValueId.ConfigId != optionModel {
		return sdk.SetSessionConfigOptionResponse{}, protocolError(
			tool.Errorf("acp", tool.Invalid, "there is no such option").WithHint("the only option is %s", optionModel))
	}
	s, err := a.session(r.ValueId.SessionId)
	if err != nil {
		return sdk.SetSessionConfigOptionResponse{}, err
	}
	if _, err := s.conversation.SetModel(ctx, string(r.ValueId.Value)); err != nil {
		return sdk.SetSessionConfigOptionResponse{}, protocolError(err)
	}
	return sdk.SetSessionConfigOptionResponse{ConfigOptions: s.options(ctx)}, nil
}
