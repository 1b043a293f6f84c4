package app

import (
	"time"

	"callgate/internal/app/attachments"
	"callgate/internal/app/brain"
	"callgate/internal/app/contract"
	"callgate/internal/app/modes"
	"callgate/internal/app/pipeline"
	"callgate/internal/app/sections"
	"callgate/internal/hook"
	"callgate/internal/skill"
)

// Agent is one agent of an app.
type Agent struct {
	ID            string
	Role          string
	Specialty     string
	SystemPrompt  string
	PromptEnv     []string          // variables of the environment that the prompt uses
	Model         *Model            // nil: the offline model
	Lanes         map[string]*Model // edge and core; nil: one lane
	Modules       []AgentModule     // those it may use; nil: all of the app's
	Skills        []string          // commands of skills whose text is always in its prompt
	SkillText     string            // of its file of skills, which is always in its prompt; "": none
	MaxIterations int               // requests to its model within one turn; 0: as the app says
	PlanFirst     bool
	Team          Team // the agents that it may start
	FromUser      bool // it is in the user's own file, and needs no consent
}

// AgentModule is a module that an agent may use.
type AgentModule struct {
	Name    string
	Actions []string // empty: all of them
}

// Only returns what the agent may use of its app's modules: actions by module, none
// for all of a module's. Nil is no limit.
func (a Agent) Only() map[string][]string {
	if a.Modules == nil {
		return nil
	}
	only := map[string][]string{}
	for _, m := range a.Modules {
		only[m.Name] = m.Actions
	}
	if _, listed := only[SpawnModule]; a.Role == Coordinator && !listed {
		only[SpawnModule] = nil
	}
	return only
}

// What an app file says of models.
type (
	Model      = brain.Model
	Connection = brain.Connection
	Sampling   = brain.Sampling
	Context    = brain.Context
)

// AppMode is a way of working.
type AppMode = modes.Mode

// Offline is the provider of the embedded model.
const Offline = brain.Offline

// Runtime says how an app's agents run.
type Runtime struct {
	Mode  string // one_shot, conversation, background or pipeline
	Entry string // the agent that is spoken to
	TurnLimits
	Workdir     string  // for WorkdirMode fixed
	WorkdirMode string  // none, required, fixed or auto
	Context     Context // of every model, unless it says otherwise
	// Sections are what every model is told anew with each turn, in the order of the telling.
	Sections []Section
	Sessions Sessions
	// Attachments are what users may put into their messages.
	Attachments attachments.Rules
	Strict      bool // a bad manifest fails the start; a call in the text of a model is refused
	// NoInstructions keeps AGENTS.md, of the project and of the user, from its models.
	NoInstructions bool
	Relaxed        bool // processes run even where the sandbox cannot be complete
	// Scheduler is on where it is not nil.
	Scheduler *Scheduler
	Watchers  bool // agents may have calls made again and again, and be told when the results change
	// Channels are where messages go, and Triggers what starts turns by itself.
	Channels       []Channel
	DefaultChannel string // where a reply goes that answers no event; "": into the conversation
	Triggers       []Trigger
	// Modes are ways of working of which a conversation is in one, the first at its beginning.
	Modes []AppMode
	// Contract is what it takes and gives, and which apps it calls.
	Contract Contract
	// Hooks are those of the app and of its agents, in the order in which they are written.
	Hooks []hook.Hook
}

// Section is a part of what a model is told with every turn.
type Section = sections.Section

// Sessions are the conversations that a user may have with an app.
type Sessions struct {
	Mode string // mono: there is one, which goes on; multi, or "": as many as are begun
	Max  int    // of those that are open at once; 0: any number
	// Activations are the turns that events start which run at a time; 0: as many as are usual.
	Activations int
}

// OneConversation reports whether a user has a single conversation with the app.
func (a *App) OneConversation() bool { return a != nil && a.Runtime.Sessions.Mode == "mono" }

// TurnLimits are what one turn may take.
type TurnLimits struct {
	MaxTurns int           // requests to a model
	Timeout  time.Duration // of a model
	MaxCost  *float64      // in dollars; nil: any
	// MaxCostTokens are those that it may take, read and written; 0: any.
	MaxCostTokens int
}

// Contract is what an app takes and gives, which apps it calls, and its steps.
type Contract struct {
	contract.Contract
	Steps []pipeline.Step // of an app whose mode is pipeline
}

// Skill is a text that tells a model how to do something.
type Skill struct {
	Command     string // without its slash
	Description string
	Path        string // of its file, or of its folder
	Dir         string // its folder, which holds the files that it names
	Content     string
	Folder      *skill.Skill // of a folder with a SKILL.md; nil: it is a file
}

// Whole is the skill as all skills are read.
func (s Skill) Whole() *skill.Skill {
	if s.Folder == nil {
		return &skill.Skill{
			Name: s.Command, Description: s.Description, Body: s.Content, Path: s.Path, Dir: s.Dir, Digest: s.Digest(),
		}
	}
	whole := *s.Folder
	whole.Description = s.Description
	return &whole
}

// Digest names everything that the skill is made of.
func (s Skill) Digest() string {
	if s.Folder != nil {
		return s.Folder.Digest
	}
	return Digest(s.Content)
}

// The lanes of an agent: edge answers the user at once, core does the deep work.
const (
	EdgeLane = "edge"
	CoreLane = "core"
)
