// Package top is the live view of what a kernel does.
package top

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/protocol/activity"
	"callgate/internal/tui/termtext"
	"callgate/tool"
)

// Options configure the view. Fetch is required.
type Options struct {
	// Fetch gets the next picture. A kernel that cannot be reached is an error, which is shown until one can be.
	Fetch       func(context.Context) (activity.Activity, error)
	Every       time.Duration // between two pictures; 0: a second
	In          io.Reader
	Out         io.Writer
	Environment []string
	NoColor     bool
}

// Run shows the view until the user leaves it or ctx ends.
func Run(ctx context.Context, o Options) error {
	if o.Every <= 0 {
		o.Every = time.Second
	}
	env := o.Environment
	if o.NoColor {
		env = append(slices.Clone(env), "NO_COLOR=1")
	}
	_, err := tea.NewProgram(&view{ctx: ctx, opt: o}, tea.WithContext(ctx), tea.WithoutSignalHandler(),
		tea.WithInput(o.In), tea.WithOutput(o.Out), tea.WithEnvironment(env)).Run()
	if err == nil || ctx.Err() != nil { // Ctrl-C is how one leaves it, too
		return nil
	}
	return &tool.Error{Op: "tui.top", Kind: tool.Failed, Message: "the view failed", Err: err,
		Hint: "callgate top --once prints one picture"}
}

// view is the state of the screen.
type view struct {
	ctx           context.Context
	opt           Options
	now, before   *activity.Activity
	problem       string
	width, height int
}

// pictureMsg is the next picture, or why there is none.
type pictureMsg struct {
	picture activity.Activity
	err     error
}

// tickMsg says that it is time for the next picture.
type tickMsg struct{}

// Init asks for the first picture.
func (v *view) Init() tea.Cmd { return v.fetch }

func (v *view) fetch() tea.Msg {
	picture, err := v.opt.Fetch(v.ctx)
	return pictureMsg{picture, err}
}

// Update takes what happened.
func (v *view) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		v.width, v.height = msg.Width, msg.Height
	case tea.KeyPressMsg:
		switch msg.String() {
		case "q", "ctrl+c", "esc":
			return v, tea.Quit
		}
	case tickMsg:
		return v, v.fetch
	case pictureMsg:
		v.take(msg)
		return v, tea.Tick(v.opt.Every, func(time.Time) tea.Msg { return tickMsg{} })
	}
	return v, nil
}

func (v *view) take(msg pictureMsg) {
	if msg.err != nil {
		v.problem = msg.err.Error()
		return
	}
	v.problem, v.before = "", v.now
	if v.before != nil && v.before.PID != msg.picture.PID {
		v.before = nil // another kernel counts from its own start
	}
	v.now = &msg.picture
}

// View is the screen.
func (v *view) View() tea.View {
	screen := tea.View{AltScreen: true, WindowTitle: "callgate top"}
	if v.width <= 0 || v.height <= 1 {
		return screen
	}
	var lines []string
	if v.now != nil {
		lines = Render(*v.now, v.before, v.width, v.height-1)
	}
	for len(lines) < v.height-1 {
		lines = append(lines, "")
	}
	foot := termtext.Faint("q leaves")
	if v.problem != "" {
		foot = termtext.Bad("no kernel answers: ") + termtext.OneLine(v.problem)
	}
	screen.SetContent(strings.Join(append(lines, termtext.Truncate(foot, v.width)), "\n"))
	return screen
}
