package protocol

import (
	"callgate/internal/conversation/history"
	"callgate/internal/gate/approval"
	"callgate/internal/journal"
	"callgate/llm"
	"callgate/tool"
)

// The routes of conversations. An open one is a session too, under the same ID.
const (
	RouteOpenConversation   = "POST /v1/conversations"
	RouteConversations      = "GET /v1/conversations"
	RouteConversation       = "GET /v1/conversations/{id}"
	RouteDeleteConversation = "DELETE /v1/conversations/{id}"
	RouteSendMessage        = "POST /v1/conversations/{id}/messages" // a stream of moments, one a line
	RouteResumeTurn         = "POST /v1/conversations/{id}/resume"   // likewise
	RouteCancelTurn         = "POST /v1/conversations/{id}/cancel"
	RouteCompact            = "POST /v1/conversations/{id}/compact" // a session.Compaction, or null
	RoutePrompt             = "GET /v1/conversations/{id}/prompt"
	RouteEvents             = "GET /v1/conversations/{id}/events"
)

// OpenConversation asks for a conversation with an agent, or for an earlier one.
type OpenConversation struct {
	OpenSession
	Resume         string `json:"resume,omitempty"` // the ID of an earlier one
	WorkspaceNamed bool   `json:"named,omitempty"`  // the user said in which folder
}

// Conversation is an open conversation.
type Conversation struct {
	Session
	Agent    string       `json:"agent"`
	Provider string       `json:"provider"`
	Model    string       `json:"model"`
	Offline  bool         `json:"offline,omitempty"` // no language model answers
	Window   int          `json:"window,omitempty"`  // tokens
	Native   bool         `json:"native_tools"`
	Mode     string       `json:"mode"` // how the tools are shown
	Tools    int          `json:"tools"`
	OneShot  bool         `json:"one_shot,omitempty"` // the app wants one turn
	Info     history.Info `json:"info"`
	Skills   []Skill      `json:"skills,omitempty"`
}

// Skill is a skill of the app, as people choose it.
type Skill struct {
	Command     string `json:"command"`
	Description string `json:"description"`
}

// SendMessage is what the user says.
type SendMessage struct {
	Text string `json:"text"`
}

// TurnEvent is one thing that happens in a turn. Exactly one field is set; the last
// moment is an End or a Failure.
type TurnEvent struct {
	Delta    *llm.Delta        `json:"delta,omitempty"`    // the model says
	Call     *history.Call     `json:"call,omitempty"`     // a call is made
	Output   *journal.Output   `json:"output,omitempty"`   // a call prints
	Approval *approval.Request `json:"approval,omitempty"` // a call waits for a human
	Result   *CallEnd          `json:"result,omitempty"`   // a call has ended
	Event    *history.Event    `json:"event,omitempty"`    // it is written down
	Notice   string            `json:"notice,omitempty"`   // what the user should know
	End      *TurnEnd          `json:"end,omitempty"`
	Failure  *tool.Error       `json:"failure,omitempty"` // the turn could not be run at all
}

// CallEnd is how a call ended, for people.
type CallEnd struct {
	Call   history.Call `json:"call"`
	Result *tool.Result `json:"result"`
}

// TurnEnd is how a turn ended.
type TurnEnd struct {
	history.End
	Info history.Info `json:"info"`
}

// Prompt is what a model is told before everything else.
type Prompt struct {
	Sections []PromptSection `json:"sections"`
	Text     string          `json:"text"`
	Tokens   int             `json:"tokens"`      // of the text, about
	Offered  []llm.ToolDef   `json:"tools"`       // what the provider is given beside it
	Shown    int             `json:"tool_tokens"` // about
}

// PromptSection is one part of it.
type PromptSection struct {
	Name   string `json:"name"`
	Text   string `json:"text"`
	Tokens int    `json:"tokens"`
}

// History is a conversation and what happened in it.
type History struct {
	history.Info
	Log []history.Event `json:"log"`
}
