package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/protocol"
	"callgate/internal/tui/palette"
)

// commands are those of the chat, and one for each skill of the app.
type commands = palette.List[*chat]

func command(name, about string, run func(*chat, string) tea.Cmd) palette.Command[*chat] {
	return palette.Command[*chat]{Name: name, About: about, Run: run}
}

// plain is a command that ignores what follows its name.
func plain(run func(*chat) tea.Cmd) func(*chat, string) tea.Cmd { return palette.Plain(run) }

func newPalette(skills []protocol.Skill) commands {
	p := commands{
		command("help", "what can be done here", plain(showHelp)),
		command("model", "which model answers; choose another, or /model PROVIDER/NAME", chooseModel),
		command("plan", "let it plan only: nothing that changes anything runs; again: ask as before", plain(togglePlan)),
		command("mode", "what it may do unasked: /mode ask, accept-edits or plan", setOrShowMode),
		command("app-mode", "how it works here, as the app names it: /app-mode NAME", setOrShowAppMode),
		command("allow", "let calls run unasked in this conversation: /allow shell: go test *", allow),
		command("compact", "make room in the model's window", plain(compact)),
		command("undo", "put back the files that the last turn changed; /undo N from turn N on, /undo redo", undoFiles),
		command("rewind", "the same, and the model no longer sees the turn; /rewind N from turn N on", rewind),
		command("waiting", "what waits for you, and what works in the background, with how to open it", plain(showWaiting)),
		command("tasks", "what works in the background; /tasks NUMBER shows one, /tasks cancel NUMBER stops it", showTasks),
		command("agents", "the agents that work for this conversation, as a tree; /agents cancel NUMBER", showAgents),
		command("proposals", "what agents propose to change; /proposals NUMBER shows one", showProposals),
		command("background", "let the call that runs go on in the background (ctrl+b)", plain(moveToBackground)),
		command("sessions", "earlier conversations; choose one to go on with", plain(listConversations)),
		command("new", "begin a new conversation", plain(func(c *chat) tea.Cmd { return c.open("") })),
		command("skills", "the skills there are; /NAME uses one", plain(showSkills)),
		command("skill_stop", "end the skill with states that is under way",
			func(c *chat, _ string) tea.Cmd { return useSkill(c, "skill_stop", "") }),
		command("prompt", "what the model is told before everything else", plain(loadPrompt)),
		command("notify", "how you are called when you look elsewhere: /notify off, bell or desktop", setAlerts),
		command("mouse", "let the terminal have the mouse, or take it back", plain(toggleMouse)),
		command("clear", "empty the screen; the conversation stays", plain(clearScreen)),
		command("quit", "leave; callgate chat --resume comes back", plain(func(*chat) tea.Cmd { return tea.Quit })),
	}
	for _, s := range skills {
		name := skillName(s)
		use := func(c *chat, text string) tea.Cmd { return useSkill(c, name, text) }
		p = append(p, command(name, s.Description, use))
	}
	return p
}

func skillName(s protocol.Skill) string { return strings.TrimPrefix(s.Command, "/") }
