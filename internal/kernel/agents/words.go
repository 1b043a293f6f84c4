package agents

import (
	"context"
	"fmt"
	"os"

	"callgate/internal/fence"
	"callgate/internal/kernel/tasks"
	"callgate/internal/task"
)

// directive stands before what an agent is told to do.
const directive = "You work for the agent %s, which reads your last answer and nothing else of what you do. " +
	"Be fast: do what is asked, no more, and answer with findings only: facts, names, paths and numbers, " +
	"no plan, no greeting, no question back. Say what you could not find out. " +
	"You set no goals and no tasks; those are not yours."

// words are what an agent is told.
func words(o order) string {
	if o.App != nil {
		return o.App.words()
	}
	return fence.Note(fmt.Sprintf(directive, o.Above[0])) + "\n\n" + o.Prompt
}

// tell tells the parent of an agent how far it is. What cannot be told is told with its end.
func (a *Agents) tell(ctx context.Context, r *tasks.Run, o order, n int, text string) {
	text = fmt.Sprintf("AGENT %s (%s) %s", o.Agent, o.Specialist, text)
	err := a.opt.Runner.Tell(ctx, task.Task{
		ID: fmt.Sprintf("%s-progress%d-%d", r.ID, r.Attempt, n), Parent: r.Parent, Label: text,
		Asker:   task.Asker{Principal: r.Asker.Principal, PID: os.Getpid()},
		Outcome: &task.Outcome{State: task.Done, Head: text},
	})
	if err != nil {
		a.opt.Log.Warn("how far an agent is cannot be told", "agent", o.Agent, "error", err)
	}
}
