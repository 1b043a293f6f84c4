package protocol

import "time"

// The routes of what leaves an app and what reaches it: channels and their deliveries,
// background apps and the events of their triggers. Any process of the user may use them,
// as it may stop a turn; what an app does by itself a human has accepted.
const (
	RouteChannels        = "GET /v1/sessions/{session}/channels"
	RouteTestChannel     = "POST /v1/sessions/{session}/channels/{name}/test"
	RouteDeliveries      = "GET /v1/deliveries"
	RouteRetryDelivery   = "POST /v1/deliveries/{id}/retry"
	RouteBackgroundApps  = "GET /v1/background"
	RouteStartBackground = "POST /v1/background/start"
	RouteStopBackground  = "POST /v1/background/stop"
	RouteTriggerEvents   = "GET /v1/triggers/events"
	RouteRetryEvent      = "POST /v1/triggers/events/{id}/retry"
)

// Channel is where an app's messages go.
type Channel struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	To       string `json:"to,omitempty"` // without secrets
	Accepted bool   `json:"accepted"`
	User     bool   `json:"user,omitempty"`    // it is in the user's own file
	Problem  string `json:"problem,omitempty"` // why it cannot be used on this machine
}

// TestChannel is a message that tries a channel.
type TestChannel struct {
	Text string `json:"text"`
}

// Delivery is a message on its way through a channel.
type Delivery struct {
	ID       string    `json:"id"`
	Message  string    `json:"message"` // the ID that its receiver is told
	Channel  string    `json:"channel"`
	App      string    `json:"app,omitempty"`
	Agent    string    `json:"agent,omitempty"`
	Title    string    `json:"title,omitempty"`
	Text     string    `json:"text"`
	State    TaskState `json:"state"`
	Attempts int       `json:"attempts"`
	Error    string    `json:"error,omitempty"` // of the last attempt
	At       time.Time `json:"at"`
	Next     time.Time `json:"next,omitzero"`
	Ended    time.Time `json:"ended,omitzero"`
}

// BackgroundApp is an app that runs without a client.
type BackgroundApp struct {
	App       string    `json:"app"`
	Workspace string    `json:"workspace"`
	AppFile   string    `json:"app_file"`
	By        string    `json:"by,omitempty"`
	Since     time.Time `json:"since"`
	Serves    bool      `json:"serves"`            // this kernel runs apps in the background
	Problem   string    `json:"problem,omitempty"` // why it does not run
	Triggers  []Trigger `json:"triggers,omitempty"`
}

// Trigger is what starts turns of a background app.
type Trigger struct {
	Name    string    `json:"name"`
	Type    string    `json:"type"`
	At      string    `json:"at,omitempty"` // where it is called, or what is looked at
	ReplyTo string    `json:"reply_to,omitempty"`
	Events  int       `json:"events"` // since it was started
	Last    time.Time `json:"last,omitzero"`
	Problem string    `json:"problem,omitempty"`
}

// StartBackground has an app run without a client, or not any more.
type StartBackground struct {
	Workspace string `json:"workspace"`
	AppFile   string `json:"app_file,omitempty"`
	By        string `json:"by,omitempty"`
}

// TriggerEvent is something that a trigger took in.
type TriggerEvent struct {
	ID           string    `json:"id"`
	App          string    `json:"app,omitempty"`
	Trigger      string    `json:"trigger"`
	Title        string    `json:"title,omitempty"`
	State        TaskState `json:"state"`
	Size         int       `json:"size"` // of its body, in bytes
	At           time.Time `json:"at"`
	Next         time.Time `json:"next,omitzero"`
	Ended        time.Time `json:"ended,omitzero"`
	Conversation string    `json:"conversation,omitempty"`
	Tries        int       `json:"tries"`
	Error        string    `json:"error,omitempty"`
	Answer       string    `json:"answer,omitempty"` // the beginning
}
