package agents

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"callgate/internal/app"
	"callgate/internal/app/contract"
	"callgate/internal/app/pipeline"
	"callgate/internal/control"
	"callgate/internal/conversation"
	"callgate/internal/conversation/history"
	"callgate/internal/gate/policy"
	"callgate/internal/kernel/apps"
	"callgate/internal/kernel/session"
	"callgate/internal/kernel/tasks"
	"callgate/internal/module"
	"callgate/internal/task"
	"callgate/llm"
	"callgate/tool"
)

// # Apps that are called
//
// An app calls those that its file names, once a human accepted that: call_app. The called
// app is a conversation with its entry agent, in the caller's folder, for the same user, and
// a task of the caller's: what holds for agents that work for others holds for it. Of its
// own file counts what a human accepted of it, as when it is used by itself.
//
//   - Its rights are those of both files: rights of apps, below.
//   - Apps call apps only so deep, and none calls itself, by whatever way.
//   - What it costs counts for its caller. It is stopped when the caller's turn, with all
//     that work for it, has cost what that may.
//   - Its input fits its file's runtime.input, or it does not begin. Its answer fits its
//     runtime.output: if it does not, its model is told so once, and then the call fails.
//   - After a kill it goes on when its caller is open again, and the call finds it.

const appOp = "context_builder.call_app"

// maxAppDepth is how deep apps call apps.
const maxAppDepth = 3

// appOrder is what of an order is another app's.
type appOrder struct {
	ID     string          `json:"id"`
	File   string          `json:"file"`
	Input  string          `json:"input"` // as its model is told it
	Output json.RawMessage `json:"output,omitempty"`
	Steps  bool            `json:"steps,omitempty"` // no model reads its input
}

// kind and name say what works: an agent, or an app.
func (o order) kind() string {
	if o.App != nil {
		return "app"
	}
	return "agent"
}

func (o order) name() string {
	if o.App != nil {
		return "app " + o.App.ID
	}
	return o.Specialist
}

// CallApp has another app work for a conversation, and waits for it: see control.CallApp.
func (a *Agents) CallApp(ctx context.Context, call tool.Call, r control.AppRequest) (*tool.Result, error) {
	parent, err := a.opt.Conversations.Get(call.Principal.Session)
	if err != nil {
		return nil, tool.Errorf(appOp, tool.Denied, "only an agent in a conversation calls apps").
			WithHint("begin one, with callgate chat or callgate run, and have its agent do it")
	}
	id := call.ID + "-app"
	if _, err := a.opt.Runner.Store().Get(ctx, id); tool.KindOf(err) == tool.NotFound {
		o, err := newAppOrder(ctx, a, parent, r)
		if err == nil {
			o.Agent = id
			err = a.start(ctx, call, parent, id, o)
		}
		if err != nil {
			return nil, err
		}
	} else if err != nil {
		return nil, err
	}
	if _, err := a.await(ctx, parent.ID(), []string{id}, math.MaxInt64, true); err != nil {
		return nil, err
	}
	return a.appResult(ctx, parent.ID(), id)
}

// newAppOrder is what an app is to do for a conversation.
func newAppOrder(
	ctx context.Context, a *Agents, parent *conversation.Conversation, r control.AppRequest,
) (order, error) {
	s := parent.Session()
	called, err := find(s.Loaded(), r.App)
	if err != nil {
		return order{}, err
	}
	if err := mayCall(ctx, a.opt.Infos, parent, called); err != nil {
		return order{}, err
	}
	loaded, err := a.opt.Apps.Load(ctx, s.Workspace(), called.File)
	if err != nil {
		return order{}, tool.Errorf(appOp, tool.KindOf(err), "the app %s cannot be read: %w", called.ID, err)
	}
	if err := admit(ctx, s, loaded, called.ID); err != nil {
		return order{}, err
	}
	wants := loaded.App.Runtime.Contract
	input, err := inputText(wants.Input, r.Input)
	if err != nil {
		return order{}, err
	}
	o, err := a.newOrder(ctx, parent, module.AgentWork{Prompt: called.ID + ": " + input, Timeout: r.Timeout})
	o.App = &appOrder{ID: called.ID, File: called.File, Input: input, Output: wants.Output}
	o.App.Steps = loaded.App.Runtime.Mode == pipeline.Mode
	o.Specialist, o.AppMode, o.Retries, o.Progress = called.ID, "", 0, false
	return o, err
}

// find finds an app that a session may call.
func find(l *apps.Loaded, id string) (contract.App, error) {
	var known []string
	for _, c := range l.Calls() {
		if c.ID == id {
			return c, nil
		}
		known = append(known, c.ID)
	}
	if l.App != nil {
		for _, c := range l.App.Runtime.Contract.Apps {
			if c.ID == id {
				return c, tool.Errorf(appOp, tool.Denied, "nobody has accepted that agents call the app %s", c.ID).
					WithHint("a human does so with callgate app trust")
			}
		}
	}
	e := tool.Errorf(appOp, tool.NotFound, "there is no app %q to call", tool.Truncate(id))
	if len(known) == 0 {
		return contract.App{}, e.WithHint("an app file names those that its agents call under tools.apps")
	}
	return contract.App{}, e.WithHint("the apps are %s", strings.Join(known, ", "))
}

// mayCall returns an error if a call would go too deep, or round.
func mayCall(ctx context.Context, infos history.Store, parent *conversation.Conversation, called contract.App) error {
	files := []string{called.File}
	names := []string{called.ID}
	for id := parent.ID(); id != ""; {
		info, err := infos.Get(ctx, id)
		if err != nil {
			return err
		}
		if last := files[len(files)-1]; !sameFile(last, info.AppFile) || len(files) == 1 {
			files, names = append(files, info.AppFile), append(names, info.App)
		}
		id = info.Parent
	}
	chain := slices.Clone(names)
	slices.Reverse(chain)
	text := strings.Join(chain, " > ")
	if slices.ContainsFunc(files[1:], func(f string) bool { return sameFile(f, called.File) }) {
		return tool.Errorf(appOp, tool.Limited, "the app %s would call itself: %s", called.ID, text).
			WithHint("do it without that app, or tell whom you work for what is missing")
	}
	if depth := len(files) - 1; depth > maxAppDepth {
		const format = "apps may call apps %d deep, and this would be %d: %s"
		return tool.Errorf(appOp, tool.Limited, format, maxAppDepth, depth, text).
			WithHint("do it without that app, or tell whom you work for what is missing")
	}
	return nil
}

// admit returns an error if a session may not have an app work for it at all.
func admit(ctx context.Context, s *session.Session, l *apps.Loaded, id string) error {
	refuse := func(format string, args ...any) *tool.Error {
		return tool.Errorf(appOp, tool.Denied, "the app %s cannot be called: %s", id, fmt.Sprintf(format, args...))
	}
	switch {
	case l.App == nil || l.App.OfProject() == nil:
		return refuse("its file is none")
	case l.App.Runtime.Mode == app.Background:
		return refuse("its runtime.mode is background").WithHint("it works by itself, when its triggers do")
	case l.Relaxed() && !s.Loaded().Relaxed():
		return refuse("it runs programs behind fewer walls than yours does (runtime.sandbox: relaxed)")
	}
	for _, m := range l.App.Modules {
		for _, step := range m.Setup {
			name := m.Name + "." + step.Action
			if seen, err := s.View().Tool(ctx, name); err != nil || seen.Decision.Verdict != policy.Allow {
				return refuse("it calls %s when it begins, which yours may not call unasked", name)
			}
		}
	}
	return nil
}

// inputText is what an app is given, as its model is told it. It fits the app's schema.
func inputText(wants, given json.RawMessage) (string, error) {
	var text string
	isText := json.Unmarshal(given, &text) == nil && given != nil && string(given) != "null"
	if wants == nil {
		switch {
		case isText && strings.TrimSpace(text) != "":
			return text, nil
		case isText || given == nil || string(given) == "null":
			return "", tool.Errorf(appOp, tool.Invalid, "there is no input").WithHint("say what the app is to do")
		}
		return string(given), nil
	}
	if given == nil {
		given = json.RawMessage("{}")
	}
	err := contract.Fit("the input", wants, given)
	if err != nil && isText && json.Valid([]byte(text)) && contract.Fit("the input", wants, json.RawMessage(text)) == nil {
		return text, nil // the model wrote JSON as a text
	}
	return string(given), err
}

// words are what an app that is called is told.
func (o *appOrder) words() string {
	if o.Steps {
		return o.Input
	}
	return o.Input + contract.Words(o.Output)
}

// outputOf is what an app gave, read by its schema.
func (o *appOrder) outputOf(answer string) (json.RawMessage, error) {
	return contract.Typed("the output of the app "+o.ID, o.Output, answer)
}

// checkOutput reports whether an app is to answer again, because what it gave does not fit.
func checkOutput(ctx context.Context, a *Agents, r *tasks.Run, o order, p *progress) (again bool, err error) {
	_, events, err := a.opt.Conversations.History(ctx, o.Agent, 0)
	if err != nil {
		return false, err
	}
	var last history.LastAnswer
	for _, e := range events {
		last.Add(e)
	}
	_, bad := o.App.outputOf(last.Text)
	if bad == nil || p.Corrected != "" || o.App.Steps {
		return false, bad
	}
	p.Corrected = contract.Again(bad)
	return true, r.Save(ctx, p)
}

// AppResult is what a model is told of an app that it called.
type AppResult struct {
	App       string          `json:"app_id"`
	Output    json.RawMessage `json:"output"`
	ToolCalls int             `json:"tool_calls"`
}

// appResult tells what an app that has ended gave.
func (a *Agents) appResult(ctx context.Context, parent, id string) (*tool.Result, error) {
	one, err := a.find(ctx, parent, id)
	if err != nil {
		return nil, err
	}
	name := one.order.App.ID
	if !one.last.State.Final() {
		return nil, tool.Errorf(appOp, tool.Timeout, "the app %s has not ended", name).
			WithHint("you are told when it has")
	}
	made := outcomeOf(one.last)
	if one.last.State != task.Done {
		e := tool.Errorf(appOp, tool.Cancelled, "the app %s was stopped", name)
		if one.last.Outcome != nil && one.last.Outcome.Error != nil {
			failed := one.last.Outcome.Error
			e = tool.Errorf(appOp, failed.Kind, "the app %s failed: %s", name, failed.Error())
		}
		return nil, e.WithHint("callgate sessions show %s shows what it did", id)
	}
	output, err := one.order.App.outputOf(made.Answer)
	if err != nil {
		return nil, err
	}
	return tool.OK(fmt.Sprintf("the app %s ended, after %d calls", name, made.ToolCalls),
		AppResult{App: name, Output: output, ToolCalls: made.ToolCalls})
}

// callerEvery is how often it is looked whether a caller is open again.
const callerEvery = 100 * time.Millisecond

// awaitCaller waits until the caller of an app is open: its rights are asked for with each
// call.
func (a *Agents) awaitCaller(ctx context.Context, r *tasks.Run, o order) error {
	if o.App == nil && !o.Under {
		return nil
	}
	look := time.NewTicker(callerEvery)
	defer look.Stop()
	for {
		if _, err := a.opt.Conversations.Get(r.Parent); err == nil {
			return a.overCaller(ctx, r.Task)
		}
		r.Progress("waits for its caller")
		select {
		case <-look.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// overCaller returns an error if the caller of an app, with all that work for it and of
// which it was not told yet, has cost what its turn may.
func (a *Agents) overCaller(ctx context.Context, t task.Task) error {
	parent, err := a.opt.Conversations.Get(t.Parent)
	if err != nil {
		return nil // it does nothing then
	}
	list, err := a.Of(ctx, t.Parent)
	if err != nil {
		return err
	}
	var spent llm.Usage
	for _, one := range list {
		if !one.last.State.Final() || one.last.Owed() {
			spent = spent.Add(spentOn(ctx, a, one.ID, progressOf(one.last)))
		}
	}
	if why := conversation.Exceeds(parent, spent); why != "" {
		return tool.Errorf(appOp, tool.Limited, "it was stopped: %s", why).
			WithHint("the caller's runtime.max_cost and max_cost_tokens bound what it calls, too")
	}
	return nil
}
