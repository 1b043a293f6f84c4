package protocol

import (
	"encoding/json"
	"time"

	"callgate/llm"
	"callgate/tool"
)

// The routes of conversations. An open one is a session too, under the same ID.
const (
	RouteOpenConversation   = "POST /v1/conversations"
	RouteConversations      = "GET /v1/conversations"
	RouteConversation       = "GET /v1/conversations/{id}"
	RouteDeleteConversation = "DELETE /v1/conversations/{id}"
	RouteSendMessage        = "POST /v1/conversations/{id}/messages" // a stream of turn events, one a line
	RouteResumeTurn         = "POST /v1/conversations/{id}/resume"   // likewise
	RouteAttend             = "GET /v1/conversations/{id}/attend"    // a stream of News, one a line
	RouteWake               = "POST /v1/conversations/{id}/wake"     // a stream of turn events, like a message's
	RouteQueueMessage       = "POST /v1/conversations/{id}/queue"    // a QueuedMessage, or null: no turn runs
	RouteUnqueueMessage     = "DELETE /v1/conversations/{id}/queue"  // the last QueuedMessage, or null
	RouteCancelTurn         = "POST /v1/conversations/{id}/cancel"
	RouteMoveCall           = "POST /v1/conversations/{id}/background" // a MoveCall
	RouteCompact            = "POST /v1/conversations/{id}/compact"    // a Compaction, or null
	RouteFork               = "POST /v1/conversations/{id}/fork"       // a Fork; the answer is a ConversationInfo
	RoutePrompt             = "GET /v1/conversations/{id}/prompt"
	RouteModels             = "GET /v1/conversations/{id}/models"
	RouteSetModel           = "POST /v1/conversations/{id}/model" // the Conversation, as it is then
	RouteEvents             = "GET /v1/conversations/{id}/events"
	RouteAgents             = "GET /v1/conversations/{id}/agents" // a list of Agent: those that work for it
	RoutePermissions        = "GET /v1/conversations/{id}/permissions"
	RouteSetPermissions     = "POST /v1/conversations/{id}/permissions"
	RouteAnswerForm         = "POST /v1/conversations/{id}/form" // a FormAnswer
)

// OpenConversation asks for a conversation with an agent, or for an earlier one.
type OpenConversation struct {
	OpenSession
	Resume         string `json:"resume,omitempty"`          // the ID of an earlier one
	Continue       bool   `json:"continue,omitempty"`        // without resume: the last one here, with this app
	Leaves         string `json:"leaves,omitempty"`          // one that the client then closes, and that no longer counts
	WorkspaceNamed bool   `json:"workspace_named,omitempty"` // the user named the workspace
	// MaxCost is what all turns may cost from now on, in dollars, where the price is known,
	// and MaxTokens how many tokens they may take, read and written; 0: any.
	MaxCost   float64 `json:"max_cost,omitempty"`
	MaxTokens int     `json:"max_tokens,omitempty"`
	// KeepRunning says that a turn goes on when its client goes away without stopping
	// it; who opens the conversation again goes on with it. Otherwise it is interrupted.
	KeepRunning bool `json:"keep_running,omitempty"`
}

// Conversation is an open conversation.
type Conversation struct {
	Session
	Agent    string           `json:"agent"`
	Provider string           `json:"provider"`
	Model    string           `json:"model"`
	Offline  bool             `json:"offline,omitempty"` // no language model answers
	Window   int              `json:"window,omitempty"`  // tokens
	Native   bool             `json:"native_tools"`
	ToolsWhy string           `json:"tools_why,omitempty"` // why the tools are native, or are not
	Mode     string           `json:"mode"`                // how the tools are shown
	Tools    int              `json:"tools"`
	OneShot  bool             `json:"one_shot,omitempty"` // the app wants one turn
	Single   bool             `json:"single,omitempty"`   // the app has one conversation, which goes on
	Info     ConversationInfo `json:"info"`
	Skills   []Skill          `json:"skills,omitempty"`
	// Permissions are what it may do without asking, beside what the rules say.
	Permissions Permissions `json:"permissions"`
	AppModes    *AppModes   `json:"app_modes,omitempty"`
	AppAbout    *AppAbout   `json:"app_about,omitempty"`
	// Queued is what the user said during a turn that was interrupted, and the model
	// was not told: the turn takes it when it goes on.
	Queued []QueuedMessage `json:"queued,omitempty"`
}

// ConversationInfo is a conversation as a list shows it.
type ConversationInfo struct {
	ID        string    `json:"id"`
	App       string    `json:"app"`
	AppFile   string    `json:"app_file,omitempty"`
	Agent     string    `json:"agent"`
	Lane      string    `json:"lane,omitempty"`
	Workspace string    `json:"workspace"`
	User      string    `json:"user"`
	Parent    string    `json:"parent,omitempty"`      // the conversation that it works for
	Forked    string    `json:"forked_from,omitempty"` // the conversation whose turns it begins with
	Title     string    `json:"title"`                 // the user's first words
	Created   time.Time `json:"created"`
	Updated   time.Time `json:"updated"`
	Events    int64     `json:"events"` // the Seq of the last one
	Turns     int       `json:"turns"`
	ToolCalls int       `json:"tool_calls_count"`
	Usage     llm.Usage `json:"usage"`              // with the agents that worked for it, once it was told
	Own       llm.Usage `json:"own_usage,omitzero"` // without them
	Last      EndReason `json:"last,omitempty"`     // how the last turn ended; "": it runs, or there was none
	Node      string    `json:"node,omitempty"`     // that has it, where several share a database and all are asked
}

// Fork asks for a conversation that begins with the turns of another.
type Fork struct {
	Turns int `json:"turns,omitempty"` // how many of them; 0: all that have ended
}

// Agent is an agent that works for a conversation, or for one that does.
type Agent struct {
	ID        string      `json:"agent_id"` // of its conversation, too
	Parent    string      `json:"parent"`   // the conversation that started it
	Name      string      `json:"name"`     // an agent of the app
	Depth     int         `json:"depth"`    // 1: a user's conversation started it
	Label     string      `json:"label,omitempty"`
	Task      string      `json:"task"` // its work, or the last of it
	Status    AgentStatus `json:"status"`
	Seconds   float64     `json:"duration_seconds"`
	ToolCalls int         `json:"tool_calls_count"`
	Usage     llm.Usage   `json:"usage"`           // with those that work for it
	Error     string      `json:"error,omitempty"` // why it failed
}

// AgentStatus is where an agent stands.
type AgentStatus string

// The statuses of an agent. The last three are final.
const (
	AgentQueued    AgentStatus = "queued"
	AgentRunning   AgentStatus = "running"
	AgentCompleted AgentStatus = "completed"
	AgentFailed    AgentStatus = "failed"
	AgentCancelled AgentStatus = "cancelled"
)

// Skill is a skill of the app, as people choose it.
type Skill struct {
	Command     string `json:"command"`
	Description string `json:"description"`
}

// SetModel asks for another model in a conversation: PROVIDER/NAME, a name of the app's,
// or another name at the provider that the conversation uses.
type SetModel struct {
	Model string `json:"model"`
}

// MoveCall asks that a call of the turn that runs goes on in the background.
type MoveCall struct {
	Call string `json:"call"`
}

// ModelChoice is a model that a conversation may change to.
type ModelChoice struct {
	Name    string `json:"name"`              // PROVIDER/NAME
	InApp   bool   `json:"in_app,omitempty"`  // the app file names it
	Current bool   `json:"current,omitempty"` // it answers now
	Window  int    `json:"window,omitempty"`  // tokens; 0: not known
	Native  bool   `json:"native_tools,omitempty"`
	Problem string `json:"problem,omitempty"` // why it cannot be used
}

// SendMessage is a message of the user.
type SendMessage struct {
	Text   string      `json:"text"`
	Images []llm.Image `json:"images,omitempty"` // after the text
}

// QueuedMessage is what the user says while a turn runs. The turn takes it before its
// next request to the model, and says so with a user event of the history whose
// Queued is its ID; or it comes back with the end of the turn.
type QueuedMessage struct {
	ID   int64  `json:"id"`
	Text string `json:"text"`
}

// News says that a conversation in which no turn runs should go on by itself: who attends
// it has it do so, with RouteWake. It is said again after each turn, while it is so.
type News struct {
	Owed int    `json:"owed"`           // ends of tasks, and notices, that the model has not been told
	Held string `json:"held,omitempty"` // why it does not go on all the same, for people
}

// TurnEvent is one thing that happens in a turn. Exactly one field is set; the last event is an End or a Failure.
type TurnEvent struct {
	Delta    *llm.Delta    `json:"delta,omitempty"`    // a piece of the model's answer
	Call     *AgentCall    `json:"call,omitempty"`     // a call is made
	Output   *Output       `json:"output,omitempty"`   // a call prints
	Script   *ScriptCall   `json:"script,omitempty"`   // a script makes a call, or one has ended
	Approval *Approval     `json:"approval,omitempty"` // a call waits for a human
	Answered *Approval     `json:"answered,omitempty"` // what waited was answered, here or elsewhere
	Question *Question     `json:"question,omitempty"` // the agent asks, or what it asked was settled
	Result   *CallEnd      `json:"result,omitempty"`   // a call has ended
	Event    *HistoryEvent `json:"event,omitempty"`    // it was added to the history
	Wait     *llm.Retry    `json:"wait,omitempty"`     // the model is asked again after a wait; see WaitText
	Notice   string        `json:"notice,omitempty"`   // what the user should know
	End      *TurnEnd      `json:"end,omitempty"`
	Failure  *tool.Error   `json:"failure,omitempty"` // the turn could not be run at all
}

// CallEnd is how a call ended, for people.
type CallEnd struct {
	Call   AgentCall    `json:"call"`
	Result *tool.Result `json:"result"`
	// Took is how long the tool ran, without what the call waited for before: a human, a
	// lock. 0: it did not run.
	Took time.Duration `json:"took,omitempty"`
}

// TurnEnd is how a turn ended. One that was to begin by itself, and did not because the
// model knows everything, has no reason.
type TurnEnd struct {
	HistoryEnd
	Info ConversationInfo `json:"info"`
	// Returned is what the user said during the turn and the model was not told, oldest
	// first. It waits no longer: a client gives it back to the user.
	Returned []QueuedMessage `json:"returned,omitempty"`
}

// History is a conversation and what happened in it.
type History struct {
	ConversationInfo
	Log     []HistoryEvent `json:"log"`
	Scripts []ScriptCall   `json:"scripts,omitempty"` // the calls that scripts made in it
}

// HistoryEvent is one thing that happened in a conversation.
type HistoryEvent struct {
	Seq     int64        `json:"seq"` // 1, 2, 3 … within its conversation
	At      time.Time    `json:"at"`
	Type    EventType    `json:"type"`
	Message *llm.Message `json:"message,omitempty"`
	Queued  int64        `json:"queued,omitempty"` // the ID of the queued message that it is about
	By      string       `json:"by,omitempty"`     // of words that are not the user's: who said them
	// System, of the user's words, is the system text that requests have from now on. It
	// is not in the events of a turn that runs.
	System []SystemSection   `json:"system,omitempty"`
	Told   map[string]string `json:"told,omitempty"` // of a note: what it tells because it changed, by subject
	// Task, of a note, is the task whose end it tells; of words that are not the user's, what
	// had them said.
	Task       string         `json:"task,omitempty"`
	Tasks      []string       `json:"tasks,omitempty"` // of a note: further tasks whose ends it tells
	Usage      *llm.Usage     `json:"usage,omitempty"`
	Model      string         `json:"model,omitempty"`
	AppMode    string         `json:"app_mode,omitempty"`
	Cut        *AnswerCut     `json:"cut,omitempty"` // of an answer that is not whole
	Call       *AgentCall     `json:"call,omitempty"`
	Result     *HistoryResult `json:"result,omitempty"`
	End        *HistoryEnd    `json:"end,omitempty"`
	Compaction *Compaction    `json:"compaction,omitempty"`
	Rewind     *Rewind        `json:"rewind,omitempty"`
}

// SystemSection is a named part of a system text.
type SystemSection struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// AnswerCut says that an answer is not whole.
type AnswerCut struct {
	Why  string `json:"why"`            // length: the limit of tokens; stopped; broken: the provider failed
	Note string `json:"note,omitempty"` // tells the model to go on: the next answer begins where this one ends
}

// GoesOn reports whether the next answer begins where this one ends.
func (c *AnswerCut) GoesOn() bool { return c != nil && c.Note != "" }

// Text says to people that an answer is not whole; "": it is, or goes on.
func (c *AnswerCut) Text() string {
	switch {
	case c == nil || c.GoesOn():
		return ""
	case c.Why == "length":
		return "the limit of tokens cut the answer off here"
	case c.Why == "stopped":
		return "the answer was stopped here"
	default:
		return "the answer broke off here"
	}
}

// EventType says what an event of a history tells.
type EventType string

// The types.
const (
	EventUser      EventType = "user"       // Message: of the user; Queued: it had waited; By: of another
	EventWoken     EventType = "woken"      // a turn begins by itself, because of what the notes after it tell
	EventQueued    EventType = "queued"     // Message: of the user, while a turn ran; no model is shown it yet
	EventReturned  EventType = "returned"   // Queued: what had waited was given back to the user
	EventNote      EventType = "note"       // Message: of the kernel, for the model
	EventAssistant EventType = "assistant"  // Message, Usage, Model: the model's answer
	EventCallMade  EventType = "tool_call"  // Call: one of its calls is made now
	EventCallEnded EventType = "tool_ended" // Call.Model and Result: how it ended
	EventTurnEnded EventType = "turn_ended" // End: how the turn ended
	EventModel     EventType = "model"      // Model: from now on this model answers, as PROVIDER/NAME
	EventAppMode   EventType = "app_mode"   // AppMode: from now on the app's mode is this one; Message: what is told of it
	EventCompacted EventType = "compacted"  // Compaction: from now on a model is shown less of what was before
	EventRewound   EventType = "rewound"    // Rewind: from now on a model is not shown a turn and what came after it
)

// AgentCall is a call of an agent's model.
type AgentCall struct {
	Model string          `json:"model"` // the model's own ID for it
	ID    string          `json:"id"`    // the kernel's
	Name  string          `json:"name"`  // as the model wrote it
	Args  json.RawMessage `json:"args,omitempty"`
}

// HistoryResult is how a call ended: what the model reads, and a line for people.
type HistoryResult struct {
	Status   tool.Status    `json:"status"`
	Summary  string         `json:"summary"`
	Content  []tool.Content `json:"content,omitempty"`
	Approval string         `json:"approval,omitempty"` // what a call that has not ended waits for
	Took     time.Duration  `json:"took,omitempty"`     // how long the tool ran, without what the call waited for
}

// HistoryEnd is how a turn ended.
type HistoryEnd struct {
	Reason EndReason `json:"reason"`
	Error  string    `json:"error,omitempty"`
	Note   string    `json:"note,omitempty"` // tells the model of it, with its next request
}

// EndReason is why a turn ended.
type EndReason string

// The reasons.
const (
	EndDone        EndReason = "done"        // the model had answered
	EndMaxTurns    EndReason = "max_turns"   // the model had been asked as often as it may
	EndStuck       EndReason = "stuck"       // the same calls had the same results over and over
	EndTimedOut    EndReason = "timeout"     // the model's time ran out
	EndRefused     EndReason = "refused"     // the model, or a filter of its provider, declined to answer
	EndCut         EndReason = "cut"         // the limit of tokens cut the answer off, and it did not go on
	EndCost        EndReason = "cost"        // it had cost as much as it may
	EndCancelled   EndReason = "cancelled"   // the user stopped it
	EndInterrupted EndReason = "interrupted" // its client or its kernel went away; it can be resumed
	EndFailed      EndReason = "error"       // the model could not be asked
)

// KernelClosed is the error of a turn that was interrupted because its kernel ended: the
// next kernel goes on with it.
const KernelClosed = "its kernel closed"

// Rewind is to which turn a conversation was taken back.
type Rewind struct {
	Before int64 `json:"before"` // the Seq of the event that began the turn
	Turn   int   `json:"turn"`   // its number
}

// Compaction is how a conversation was made shorter for its model.
type Compaction struct {
	Summary   string      `json:"summary,omitempty"` // in the place of messages that are left out
	Kept      int         `json:"kept"`              // how many of the last messages stay
	Pinned    []int       `json:"pinned,omitempty"`  // earlier ones that stay too
	Shortened []Shortened `json:"shortened,omitempty"`
	Dropped   int         `json:"dropped,omitempty"` // how many messages the summary newly replaces
	Warning   string      `json:"warning,omitempty"` // what people should know about it
	Before    int         `json:"tokens_before,omitempty"`
	After     int         `json:"tokens_after,omitempty"`
	Usage     *llm.Usage  `json:"usage,omitempty"` // of the summary, where a model wrote it
	Model     string      `json:"model,omitempty"`
}

// Shortened is a result that is shown in part.
type Shortened struct {
	Message int    `json:"message"` // its index
	Call    string `json:"call"`    // the model's ID of the call
	Text    string `json:"text"`    // what is shown of it
}

// Prompt is what a model is sent beside what is said.
type Prompt struct {
	Sections []PromptSection `json:"sections"`
	Text     string          `json:"text"`
	Tokens   int             `json:"tokens"`      // of the text, about
	Offered  []llm.ToolDef   `json:"tools"`       // what the provider is given beside it
	Shown    int             `json:"tool_tokens"` // about
	// Note is what it is told beside the user's next words, because it changed.
	Note       string `json:"note,omitempty"`
	NoteTokens int    `json:"note_tokens,omitempty"` // about
	Memory     string `json:"memory,omitempty"`      // what is remembered now, as a note tells it
}

// PromptSection is one part of it.
type PromptSection struct {
	Name   string `json:"name"`
	Text   string `json:"text"`
	Tokens int    `json:"tokens"`
}
