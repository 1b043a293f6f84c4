package tool

import (
	"context"
	"encoding/json"
	"time"
)

// Tool is one callable unit: what a model sees, what the kernel knows, and the
// code that runs. A published Tool is immutable.
type Tool struct {
	ID      ID
	Spec    Spec
	Runtime Runtime
	Handler Handler
}

// Handler is the code behind a tool. Only the gate calls it, with arguments
// that met the input schema, and with every claim held. It stops promptly when
// ctx is done.
type Handler interface {
	Execute(ctx context.Context, call Call, grant Grant) (*Result, error)
}

// HandlerFunc makes a function a Handler.
type HandlerFunc func(ctx context.Context, call Call, grant Grant) (*Result, error)

// Execute calls the function.
func (f HandlerFunc) Execute(ctx context.Context, call Call, grant Grant) (*Result, error) {
	return f(ctx, call, grant)
}

// Spec is the model's view of a tool: all that a model may ever see.
type Spec struct {
	Name        string          `json:"name"` // dotted; set from the ID when published
	Short       string          `json:"short_name,omitempty"`
	Description string          `json:"description"`
	Input       json.RawMessage `json:"input_schema"`
	Output      json.RawMessage `json:"output_schema,omitempty"`
	Examples    []Example       `json:"examples,omitempty"`
	Aliases     []string        `json:"aliases,omitempty"`
	Tags        []string        `json:"tags,omitempty"`
}

// Example is one call worth imitating.
type Example struct {
	Note string          `json:"note,omitempty"`
	Args json.RawMessage `json:"args"`
}

// Runtime is the kernel's view of a tool; it never reaches a model. The zero
// value is safe: medium risk, assumed to write.
type Runtime struct {
	Effects    []Effect      `json:"effects,omitempty"`
	Risk       Risk          `json:"risk,omitempty"`
	SideEffect SideEffect    `json:"side_effect,omitempty"`
	Idempotent bool          `json:"idempotent,omitempty"`  // running twice is running once
	AskFirst   bool          `json:"ask_first,omitempty"`   // a human approves, whatever the app says
	Timeout    time.Duration `json:"timeout,omitempty"`     // 0: the kernel's default
	LockFor    time.Duration `json:"lock_for,omitempty"`    // its locks go after this, though it runs on; 0: when it ends
	Network    bool          `json:"network,omitempty"`     //
	Secrets    []string      `json:"secrets,omitempty"`     // names the handler may receive
	Exposure   Exposure      `json:"exposure,omitempty"`    // which lane sees the result
	PromptMask bool          `json:"prompt_mask,omitempty"` // the model sees the summary, never the data
	MaxResult  int           `json:"max_result,omitempty"`  // bytes a model is given; 0: the kernel's default
	KeepTail   bool          `json:"keep_tail,omitempty"`   // of a longer one the end is shown too, not the head alone
	FoundOnly  bool          `json:"found_only,omitempty"`  // models find it by search; no list has it
	Internal   bool          `json:"internal,omitempty"`    // for the daemon only, invisible to models
	Control    bool          `json:"control,omitempty"`     // the kernel's own tool; set by the kernel alone
	Feature    string        `json:"-"`                     // of apps that turn it on; set by the kernel alone
	Occasional bool          `json:"-"`                     // of Control: not on short lists, unless pinned

	// Data is how closely the data is kept that its results may hold.
	Data DataClass `json:"data_classification,omitempty"`

	// ParamAliases are what other programs call its parameters.
	ParamAliases []ParamAlias `json:"-"`
}

// Unlisted reports whether a tool is called by its exact names alone: no list, no search and no
// suggestion has it, and it takes no short name from another.
func (r Runtime) Unlisted() bool { return r.Feature != "" && !r.Control }

// ParamAlias is a name that another program has for a parameter, and how it writes
// the value. Models know those programs, and write calls as they do.
type ParamAlias struct {
	Name  string
	Param string // the parameter it means; "": it says nothing that the tool needs, and is dropped
	In    string // the list of objects whose parameter it is; "": the call's own
	Weak  bool   // it is dropped where the parameter is given as well
	// Convert gives the value as the tool takes it, and reports whether it can. Nil: as
	// it is.
	Convert func(json.RawMessage) (json.RawMessage, bool)
}

// Risk is how much harm a call can do.
type Risk string

// The risks. The zero value counts as medium.
const (
	Low    Risk = "low"
	Medium Risk = "medium"
	High   Risk = "high"
)

// Level orders risks: 1 low, 2 medium or unset, 3 high; an unknown risk is high.
func (r Risk) Level() int {
	switch r {
	case Low:
		return 1
	case Medium, "":
		return 2
	default:
		return 3
	}
}

// DataClass is how closely data is kept.
type DataClass string

// The classes. The zero value counts as internal.
const (
	DataPublic     DataClass = "public"
	DataInternal   DataClass = "internal"
	DataSensitive  DataClass = "sensitive"
	DataRestricted DataClass = "restricted"
)

// Level orders classes: 1 public, 2 internal or unset, 3 sensitive, 4 restricted; an
// unknown class is restricted.
func (d DataClass) Level() int {
	switch d {
	case DataPublic:
		return 1
	case DataInternal, "":
		return 2
	case DataSensitive:
		return 3
	default:
		return 4
	}
}

// SideEffect is what a call leaves behind.
type SideEffect string

// The side effects. The zero value counts as a write.
const (
	None     SideEffect = "none"     // pure
	Read     SideEffect = "read"     // observes, changes nothing
	Write    SideEffect = "write"    // changes what is inside the workspace or the kernel
	External SideEffect = "external" // reaches past the machine or the workspace
)

// Durable reports whether a call with this side effect must be on disk before
// it runs and before it is answered.
func (s SideEffect) Durable() bool { return s != None && s != Read }

// Exposure says which lane of an agent is given a tool's result.
type Exposure string

// The exposures. The zero value is Both.
const (
	Both   Exposure = "both"
	Edge   Exposure = "edge"
	Core   Exposure = "core"
	Nobody Exposure = "none"
)

// ShownTo reports whether a lane is given the result. A principal with no lane
// is given everything but Nobody's.
func (e Exposure) ShownTo(lane string) bool {
	switch e {
	case Both, "":
		return true
	case Nobody:
		return false
	default:
		return lane == "" || lane == string(e)
	}
}

// Validate reports the first thing that makes t unfit to publish.
func (t *Tool) Validate() error {
	const op = "tool.Validate"
	if _, err := NewID(t.ID.Namespace, t.ID.Name, t.ID.Version.String()); err != nil {
		return err
	}
	switch {
	case t.Handler == nil:
		return Errorf(op, Invalid, "%s has no handler", t.ID)
	case t.Spec.Description == "":
		return Errorf(op, Invalid, "%s has no description: a model could not choose it", t.ID)
	case len(t.Spec.Input) == 0:
		return Errorf(op, Invalid, `%s has no input schema; one that takes nothing has {"type":"object"}`, t.ID)
	case !json.Valid(t.Spec.Input):
		return Errorf(op, Invalid, "the input schema of %s is not JSON", t.ID)
	case len(t.Spec.Output) > 0 && !json.Valid(t.Spec.Output):
		return Errorf(op, Invalid, "the output schema of %s is not JSON", t.ID)
	}
	if err := t.Runtime.validate(t.ID); err != nil {
		return err
	}
	for _, e := range t.Runtime.Effects {
		if err := e.validate(t); err != nil {
			return err
		}
	}
	return nil
}

func (r *Runtime) validate(id ID) error {
	const op = "tool.Validate"
	switch r.Risk {
	case "", Low, Medium, High:
	default:
		return Errorf(op, Invalid, "%s has risk %q; use low, medium or high", id, Truncate(string(r.Risk)))
	}
	switch r.Data {
	case "", DataPublic, DataInternal, DataSensitive, DataRestricted:
	default:
		return Errorf(op, Invalid, "%s has data classification %q; use public, internal, sensitive or restricted",
			id, Truncate(string(r.Data)))
	}
	switch r.SideEffect {
	case "", None, Read, Write, External:
	default:
		return Errorf(op, Invalid, "%s has side effect %q; use none, read, write or external",
			id, Truncate(string(r.SideEffect)))
	}
	switch r.Exposure {
	case "", Both, Edge, Core, Nobody:
	default:
		return Errorf(op, Invalid, "%s has exposure %q; use edge, core, both or none", id, Truncate(string(r.Exposure)))
	}
	return nil
}
