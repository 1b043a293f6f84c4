package composer

import (
	"io"

	tea "charm.land/bubbletea/v2"
)

// edit opens the user's editor on what is written, pastes and all.
func (c *Composer) edit() tea.Cmd {
	if c.Edit == nil {
		c.wrong = "there is no editor here: set VISUAL or EDITOR"
		return nil
	}
	run := &editing{edit: c.Edit, text: c.pastes.Expand(c.field.Text())}
	return tea.Exec(run, func(err error) tea.Msg { return editedMsg{run.text, err} })
}

// editing is the editor as a program that has the terminal.
type editing struct {
	edit func(string) (string, error)
	text string
}

// Run edits the text.
func (e *editing) Run() (err error) {
	e.text, err = e.edit(e.text)
	return err
}

// The editor has the streams of the command line.

func (e *editing) SetStdin(io.Reader)  {}
func (e *editing) SetStdout(io.Writer) {}
func (e *editing) SetStderr(io.Writer) {}
