package kernel

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"callgate/internal/agent"
	"callgate/internal/app"
	"callgate/internal/control"
	"callgate/internal/conversation/history"
	"callgate/internal/gate/approval"
	"callgate/llm"
	"callgate/tool"
)

// The lanes of an agent: edge answers the user at once, core does the deep work.
const (
	edgeLane = "edge"
	coreLane = "core"
)

// agentTools are the kernel's own tools for agents.
func (k *Kernel) agentTools() []*tool.Tool {
	return []*tool.Tool{control.SkillTool(k.skill), control.TaskTool(k.startCore, k.coreJob)}
}

// offers reports whether a control tool means anything in this session. An agent
// of ours waits for a human by itself; a client may not.
func (s *Session) offers(t *tool.Tool, mcp bool) bool {
	switch t.ID.Name {
	case "collect":
		return mcp
	case "use_skill":
		return s.App != nil && len(s.App.Skills) > 0
	case "core_job":
		return s.door.Principal.Lane == edgeLane
	}
	return true
}

// skill finds a skill of a session's app.
func (k *Kernel) skill(id, command string) (control.Skill, error) {
	s, err := k.Session(id)
	if err != nil {
		return control.Skill{}, err
	}
	command = strings.TrimPrefix(strings.TrimSpace(command), "/")
	var known []string
	if s.App != nil {
		for _, skill := range s.App.Skills {
			if strings.EqualFold(skill.Command, command) {
				return control.Skill{Command: skill.Command, Description: skill.Description, Dir: skill.Dir, Content: skill.Content}, nil
			}
			known = append(known, skill.Command)
		}
	}
	e := tool.Errorf("callgate.skill", tool.NotFound, "there is no skill %q", tool.Truncate(command))
	if len(known) == 0 {
		return control.Skill{}, e.WithHint("this app has no skills")
	}
	return control.Skill{}, e.WithHint("the skills are %s", strings.Join(known, ", "))
}

// job is what a core lane works at.
type job struct {
	talk   *Conversation
	cancel context.CancelFunc
	done   chan struct{}
	end    history.End
	answer string
}

// brainOf is the brain of an agent's lane.
func brainOf(a app.Agent, lane string) *app.Model {
	if b := a.Lanes[lane]; b != nil {
		return b
	}
	return a.Model
}

// maxJobs is how many jobs one conversation may have under way.
const maxJobs = 8

// startCore begins a job of an edge lane's core. It is a conversation of its
// own, under the ID of the call that began it: made again after a crash, the
// call finds the job it had begun.
func (k *Kernel) startCore(ctx context.Context, call tool.Call, task string) (control.Task, error) {
	edge, err := k.Conversation(call.Principal.Session)
	if err != nil {
		return control.Task{}, err
	}
	if edge.door.Principal.Lane != edgeLane {
		return control.Task{}, tool.Errorf("callgate.core", tool.NotFound, "this agent has no core lane").WithHint("do it yourself")
	}
	if n := edge.working(); n >= maxJobs {
		return control.Task{}, tool.Errorf("callgate.core", tool.Limited, "%d jobs are under way already", n).WithHint("wait until one has ended")
	}
	return edge.core(ctx, call.ID+coreEnding, task)
}

// coreEnding marks the conversations of core lanes.
const coreEnding = "-core"

// core begins a job, or takes up one that was broken off.
func (c *Conversation) core(ctx context.Context, id, task string) (control.Task, error) {
	k := c.kernel
	log, err := history.Open(ctx, k.talkStore(), id)
	if err != nil && tool.KindOf(err) != tool.NotFound {
		return control.Task{}, err
	}
	s, err := k.openFor(ctx, SessionConfig{
		Workspace: c.Workspace(), AppFile: c.door.AppFile, Agent: c.Agent.ID, Lane: coreLane, PID: c.door.Requester.PID,
	}, id)
	if err != nil {
		return control.Task{}, err
	}
	s.door.Requester = c.door.Requester
	talk, err := k.converse(ctx, s, c.Agent.ID, log)
	if err != nil {
		s.Close()
		return control.Task{}, err
	}
	talk.door.OnApprovalAsked = c.wasAsked
	j := &job{talk: talk, done: make(chan struct{})}
	var working context.Context
	working, j.cancel = context.WithCancel(k.ctx)
	c.mu.Lock()
	c.jobs = append(c.jobs, j)
	c.mu.Unlock()
	k.running.Go(func() { c.work(working, j, task) })
	return control.Task{ID: id, Status: "running"}, nil
}

// working is how many jobs are under way.
func (c *Conversation) working() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, j := range c.jobs {
		select {
		case <-j.done:
		default:
			n++
		}
	}
	return n
}

// takeUpJobs goes on with the jobs of an earlier life that never ended, and
// tells of those whose end nobody was told.
func (c *Conversation) takeUpJobs(ctx context.Context) error {
	all, err := c.kernel.Conversations(ctx, 0)
	if err != nil {
		return err
	}
	for _, info := range all {
		if strings.HasPrefix(info.ID, c.ID+"-") && strings.HasSuffix(info.ID, coreEnding) && info.Last == "" {
			if _, err := c.core(ctx, info.ID, ""); err != nil {
				return err
			}
		}
	}
	return nil
}

// work does a job, and has the edge lane be told of its end.
func (c *Conversation) work(ctx context.Context, j *job, task string) {
	defer close(j.done) // when nothing of it is left
	defer j.cancel()
	defer j.talk.Close()
	begin := j.talk.Resume // it was begun before
	if j.talk.Info().Turns == 0 {
		begin = func(ctx context.Context, w agent.Observer, asked func(approval.Request)) (history.End, error) {
			return j.talk.Say(ctx, llm.Say(llm.User, task), w, asked)
		}
	}
	end, err := begin(ctx, agent.Observer{}, nil)
	if err != nil {
		end = history.End{Reason: history.Failed, Error: err.Error()}
	}
	messages := j.talk.log.Messages()
	for i := len(messages) - 1; i >= 0 && j.answer == ""; i-- {
		if messages[i].Role == llm.Assistant {
			j.answer = messages[i].Text()
		}
	}
	j.end = end
	note := fmt.Sprintf("CORE JOB %s ENDED (%s)", j.talk.ID, end.Reason)
	if end.Error != "" {
		note += ": " + end.Error
	}
	if j.answer != "" {
		note += "\n" + tool.TruncateTo(j.answer, 8000)
	}
	c.Notify(note)
}

// coreJob tells how a job stands.
func (k *Kernel) coreJob(id, name string) (control.Task, error) {
	edge, err := k.Conversation(id)
	if err != nil {
		return control.Task{}, err
	}
	edge.mu.Lock()
	jobs := slices.Clone(edge.jobs)
	edge.mu.Unlock()
	for _, j := range jobs {
		if j.talk.ID != name {
			continue
		}
		select {
		case <-j.done:
			return control.Task{ID: name, Status: string(j.end.Reason), Answer: tool.TruncateTo(j.answer, 8000)}, nil
		default:
			return control.Task{ID: name, Status: "running"}, nil
		}
	}
	return control.Task{}, tool.Errorf("callgate.core", tool.NotFound, "there is no job %q", tool.Truncate(name))
}

// awaitJobs waits for the jobs that are under way and reports whether there is
// news of one. Only an app that takes a single turn waits: elsewhere the news
// come with the user's next words.
func (c *Conversation) awaitJobs(ctx context.Context) bool {
	if c.App == nil || c.App.Runtime.Mode != "one_shot" {
		return false
	}
	c.mu.Lock()
	jobs := slices.Clone(c.jobs)
	c.mu.Unlock()
	for _, j := range jobs {
		select {
		case <-j.done:
		case <-ctx.Done():
			return false
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.notices) > 0
}

// Close ends the conversation's session: the turn that is under way and the jobs
// of its core lane are stopped first.
func (c *Conversation) Close() {
	c.Cancel()
	c.mu.Lock()
	jobs := slices.Clone(c.jobs)
	c.mu.Unlock()
	for _, j := range jobs {
		j.cancel()
	}
	for _, j := range jobs {
		<-j.done
	}
	c.Session.Close()
}
