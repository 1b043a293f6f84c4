package httpapi

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strings"

	"callgate/internal/agent"
	"callgate/internal/agent/surface"
	"callgate/internal/conversation"
	"callgate/internal/conversation/history"
	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/daemon/wire"
	"callgate/internal/gate/approval"
	"callgate/internal/kernel/scripts"
	"callgate/internal/kernel/toolview"
	"callgate/internal/protocol"
	"callgate/llm"
	"callgate/tool"
)

// conversationRoutes opens conversations and runs their turns.
type conversationRoutes struct{ *api }

func (a *conversationRoutes) routes() map[string]route.Func {
	return map[string]route.Func{
		protocol.RouteOpenConversation:   a.openConversation,
		protocol.RouteConversations:      a.conversations,
		protocol.RouteConversation:       a.history,
		protocol.RouteDeleteConversation: a.deleteConversation,
		protocol.RouteSendMessage:        a.sendMessage,
		protocol.RouteResumeTurn:         a.resumeTurn,
		protocol.RouteAttend:             a.attend,
		protocol.RouteWake:               a.wake,
		protocol.RouteQueueMessage:       a.queueMessage,
		protocol.RouteUnqueueMessage:     a.unqueueMessage,
		protocol.RouteCancelTurn:         a.cancelTurn,
		protocol.RouteMoveCall:           a.moveCall,
		protocol.RouteCompact:            a.compact,
		protocol.RouteFork:               a.fork,
		protocol.RoutePrompt:             a.prompt,
		protocol.RoutePlan:               a.plan,
		protocol.RouteModels:             a.models,
		protocol.RouteSetModel:           a.setModel,
		protocol.RouteEvents:             a.conversationEvents,
		protocol.RouteAgents:             a.agents,
		protocol.RoutePermissions:        a.permissions,
		protocol.RouteSetPermissions:     a.setPermissions,
		protocol.RouteSetAppMode:         a.setAppMode,
		protocol.RouteAnswerForm:         a.answerForm,
	}
}

func (a *conversationRoutes) openConversation(w http.ResponseWriter, r *http.Request) error {
	var o protocol.OpenConversation
	if err := route.Read(r, &o); err != nil {
		return err
	}
	spec, err := a.sessionSpec(r, o.OpenSession)
	if err == nil {
		err = a.checkResumed(r, o.Resume)
	}
	if err != nil {
		return err
	}
	c, err := a.kernel.Conversations.Open(r.Context(), conversation.Spec{
		Resume: o.Resume, Continue: o.Continue, Leaves: o.Leaves,
		Workspace: spec.Workspace, Named: o.WorkspaceNamed, AppFile: spec.AppFile,
		Agent: spec.Agent, Lane: spec.Lane, Requester: spec.Requester, KeepRunning: o.KeepRunning,
		Limit: agent.Limit{Cost: int64(math.Round(max(0, o.MaxCost) * 1e6)), Tokens: max(0, o.MaxTokens)},
	})
	if err != nil {
		return err
	}
	return route.Answer(w, a.conversationDTO(c))
}

// conversationDTO is an open conversation, as it is now.
func (a *conversationRoutes) conversationDTO(c *conversation.Conversation) protocol.Conversation {
	model, plan := c.Model(), c.Plan()
	opened := protocol.Conversation{
		Session: a.sessionDTO(c.Session()), Agent: c.Agent().ID, Provider: model.Provider, Model: model.Model,
		Offline: model.Offline, Window: c.Window(), Native: model.NativeTools, ToolsWhy: model.ToolsWhy,
		Mode: string(plan.Mode), Tools: len(plan.PerTool), Info: wire.ConversationInfo(c.Info()),
		Permissions: wire.Permissions(a.kernel.Permissions.Of(c.ID())), AppModes: appModes(c),
	}
	for _, q := range c.Queued() {
		opened.Queued = append(opened.Queued, wire.QueuedMessage(q))
	}
	if app := c.Session().App(); app != nil {
		opened.OneShot, opened.AppAbout = app.Runtime.Mode == "one_shot", wire.AppAbout(app)
		opened.Single = app.OneConversation()
	}
	for _, s := range c.Session().Loaded().Skills {
		if !s.ForModel {
			opened.Skills = append(opened.Skills, protocol.Skill{Command: s.Command, Description: s.Description})
		}
	}
	opened.Warnings = slices.Concat(opened.Warnings, c.Warnings())
	return opened
}

// models lists the models that a conversation may change to.
func (a *conversationRoutes) models(w http.ResponseWriter, r *http.Request) error {
	c, err := a.conversation(r)
	if err != nil {
		return err
	}
	return route.Answer(w, wire.List(a.kernel.Conversations.ModelChoices(c), wire.ModelChoice))
}

// setModel has another model answer from the next turn on.
func (a *conversationRoutes) setModel(w http.ResponseWriter, r *http.Request) error {
	c, err := a.conversation(r)
	if err != nil {
		return err
	}
	var in protocol.SetModel
	if err := route.Read(r, &in); err != nil {
		return err
	}
	if err := a.kernel.Conversations.SetModel(r.Context(), c, in.Model); err != nil {
		return err
	}
	return route.Answer(w, a.conversationDTO(c))
}

// conversation returns the open conversation that a request acts in. Only the
// process that opened it may.
func (a *conversationRoutes) conversation(r *http.Request) (*conversation.Conversation, error) {
	c, err := a.kernel.Conversations.Get(r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	return c, route.CheckOwner(c.Session(), r)
}

func (a *conversationRoutes) sendMessage(w http.ResponseWriter, r *http.Request) error {
	c, err := a.conversation(r)
	if err != nil {
		return err
	}
	in, err := message(r)
	if err != nil {
		return err
	}
	return a.turn(w, r, c, func(ctx context.Context, watch conversation.Watch) (history.End, error) {
		return c.Send(ctx, userMessage(in), watch)
	})
}

// message reads the user's message of a request.
func message(r *http.Request) (in protocol.SendMessage, err error) {
	if err := route.Read(r, &in); err != nil {
		return in, err
	}
	if strings.TrimSpace(in.Text) == "" {
		return in, tool.Errorf("httpapi.say", tool.Invalid, "there is nothing to say").
			WithHint("write what the agent should do")
	}
	return in, nil
}

// userMessage is a message of the user as the model gets it.
func userMessage(in protocol.SendMessage) llm.Message {
	m := llm.TextMessage(llm.User, in.Text)
	for _, image := range in.Images {
		m.Parts = append(m.Parts, llm.Part{Image: &image})
	}
	return m
}

// queueMessage takes a message for the turn that runs.
func (a *conversationRoutes) queueMessage(w http.ResponseWriter, r *http.Request) error {
	c, err := a.conversation(r)
	if err != nil {
		return err
	}
	in, err := message(r)
	if err != nil {
		return err
	}
	q, err := c.Queue(r.Context(), userMessage(in))
	return answerQueued(w, q, err)
}

// unqueueMessage gives back the last message that waits.
func (a *conversationRoutes) unqueueMessage(w http.ResponseWriter, r *http.Request) error {
	c, err := a.conversation(r)
	if err != nil {
		return err
	}
	q, err := c.Unqueue(r.Context())
	return answerQueued(w, q, err)
}

// answerQueued answers with a message that waits, or waited; nil: null.
func answerQueued(w http.ResponseWriter, q *history.QueuedMessage, err error) error {
	if err != nil {
		return err
	}
	if q == nil {
		return route.Answer(w, nil)
	}
	return route.Answer(w, wire.QueuedMessage(*q))
}

func (a *conversationRoutes) resumeTurn(w http.ResponseWriter, r *http.Request) error {
	c, err := a.conversation(r)
	if err != nil {
		return err
	}
	return a.turn(w, r, c, c.Resume)
}

func (a *conversationRoutes) cancelTurn(w http.ResponseWriter, r *http.Request) error {
	// Any process of the user may stop a turn.
	c, err := a.kernel.Conversations.Get(r.PathValue("id"))
	if err != nil {
		return err
	}
	return route.Answer(w, c.Cancel())
}

// moveCall lets a call of the turn go on in the background.
func (a *conversationRoutes) moveCall(w http.ResponseWriter, r *http.Request) error {
	c, err := a.conversation(r)
	if err != nil {
		return err
	}
	var in protocol.MoveCall
	if err := route.Read(r, &in); err != nil {
		return err
	}
	if err := a.kernel.Background.Move(r.Context(), c.ID(), in.Call); err != nil {
		return err
	}
	return route.Answer(w, nil)
}

// compact shortens a conversation in which no turn runs.
func (a *conversationRoutes) compact(w http.ResponseWriter, r *http.Request) error {
	c, err := a.conversation(r)
	if err != nil {
		return err
	}
	done, err := c.Compact(r.Context())
	if err != nil {
		return err
	}
	if done == nil {
		return route.Answer(w, nil)
	}
	return route.Answer(w, wire.Compaction(*done))
}

func (a *conversationRoutes) prompt(w http.ResponseWriter, r *http.Request) error {
	c, err := a.conversation(r)
	if err != nil {
		return err
	}
	return route.Answer(w, promptDTO(c.Presentation()))
}

// promptDTO is what a model is sent beside what is said.
func promptDTO(made *conversation.Presentation) *protocol.Prompt {
	p := &protocol.Prompt{
		Text: made.System.Text(), Offered: made.Tools, Note: made.Note, NoteTokens: tokens(made.Note), Memory: made.Memory,
	}
	for _, s := range made.System.Sections {
		n := tokens(s.Text)
		p.Tokens += n
		p.Sections = append(p.Sections, protocol.PromptSection{Name: s.Name, Text: s.Text, Tokens: n})
	}
	if made.Tools != nil {
		p.Shown = made.Plan.ShownTokens
	}
	return p
}

// plan shows the tools as an agent's model would get them.
func (a *conversationRoutes) plan(w http.ResponseWriter, r *http.Request) error {
	var in protocol.PlanRequest
	if err := route.Read(r, &in); err != nil {
		return err
	}
	if err := route.CheckPlace(r, in.Workspace, in.AppFile); err != nil {
		return err
	}
	if in.Window < 0 {
		return tool.Errorf("httpapi", tool.Invalid, "the window %d is not a number of tokens", in.Window)
	}
	c := toolview.SurfaceConfig{Mode: in.Mode, Window: in.Window, WindowFrom: surface.FromFlag}
	login, _ := route.LoginOf(r)
	made, err := a.kernel.Conversations.Preview(r.Context(), conversation.Spec{
		Workspace: in.Workspace, Named: in.WorkspaceNamed, AppFile: in.AppFile, Agent: in.Agent,
		Requester: approval.Requester{User: login.InPrincipal()}, // whose memory the prompt has
	}, c)
	if err != nil {
		return err
	}
	planned := protocol.AgentSurface{
		Agent: made.Agent, Provider: made.Model.Provider, Model: made.Model.Model, Offline: made.Model.Offline,
		Native: made.Model.NativeTools, ToolsWhy: made.Model.ToolsWhy, Warnings: made.Warnings,
		Surface: *wire.Surface(made.Plan),
	}
	if in.Prompt {
		planned.Prompt = promptDTO(made)
	}
	return route.Answer(w, planned)
}

func (a *conversationRoutes) conversations(w http.ResponseWriter, r *http.Request) error {
	var limit uint64
	if err := route.Number(r, "limit", &limit); err != nil {
		return err
	}
	list, err := a.kernel.Conversations.List(r.Context(), int(limit))
	if err != nil {
		return err
	}
	return route.Answer(w, wire.List(list, wire.ConversationInfo))
}

// agents lists those that work for a conversation, of whatever depth.
func (a *conversationRoutes) agents(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	if _, err := a.kernel.Conversations.Store.Get(r.Context(), id); err != nil {
		return err
	}
	list, err := a.kernel.Agents.Tree(r.Context(), id)
	if err != nil {
		return err
	}
	return (&taskRoutes{a.api}).answerScrubbed(w, wire.List(list, wire.Agent))
}

func (a *conversationRoutes) history(w http.ResponseWriter, r *http.Request) error {
	var after uint64
	if err := route.Number(r, "after", &after); err != nil {
		return err
	}
	info, events, err := a.kernel.Conversations.History(r.Context(), r.PathValue("id"), int64(after))
	if err != nil {
		return err
	}
	h := protocol.History{ConversationInfo: wire.ConversationInfo(info), Log: wire.List(events, wire.HistoryEvent)}
	for _, e := range events {
		if e.Type != history.CallMade || e.Call == nil || !scripts.IsScript(e.Call.Name, e.Call.Args) {
			continue
		}
		made, err := a.kernel.Scripts.Past(r.Context(), e.Call.ID)
		if err != nil {
			return err
		}
		h.Scripts = append(h.Scripts, wire.List(made, wire.ScriptCall)...)
	}
	return route.Answer(w, h)
}

// conversationEvents follows the history of a conversation, one line per event.
func (a *conversationRoutes) conversationEvents(w http.ResponseWriter, r *http.Request) error {
	var after uint64
	if err := route.Number(r, "after", &after); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(a.Context, cancel)()
	c, err := a.kernel.Conversations.Get(r.PathValue("id"))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	enc, flush := json.NewEncoder(w), http.NewResponseController(w).Flush
	if err := flush(); err != nil {
		return nil
	}
	_ = c.Follow(ctx, int64(after), func(e history.Event) bool {
		return enc.Encode(wire.HistoryEvent(e)) == nil && flush() == nil
	})
	return nil
}

func (a *conversationRoutes) deleteConversation(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	// The process that opened it may. Others need a human's authority.
	if c, err := a.kernel.Conversations.Get(id); err != nil || route.CheckOwner(c.Session(), r) != nil {
		if err := a.kernel.Approvals.HasHumanAuthority(route.Credential(r, "")); err != nil {
			return err
		}
	}
	if err := a.kernel.Conversations.Delete(r.Context(), id); err != nil {
		return err
	}
	return route.Answer(w, struct{}{})
}
