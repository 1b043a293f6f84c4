package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"callgate/internal/cli/dialog"
	"callgate/internal/ownership"
	"callgate/internal/protocol"
	"callgate/tool"
)

// BindToken gives a command the flag that names the file of a token.
func (e *Env) BindToken(c *cobra.Command) {
	c.Flags().StringVar(&e.tokenFile, "token-file", "",
		"answer with the token in `FILE`, without a terminal (default $CALLGATE_TOKEN)")
}

// token is the token that the user gave this command; empty for none. A value that
// is no token of ours is for something else: clients over HTTP have theirs in the
// same variable.
func (e *Env) token() (string, error) {
	if e.tokenFile == "" {
		if value := e.Getenv("CALLGATE_TOKEN"); strings.HasPrefix(value, protocol.TokenPrefix) {
			return value, nil
		}
		return "", nil
	}
	path := e.Path(e.tokenFile)
	if info, err := os.Stat(path); err == nil {
		if p := ownership.Secret(path, info); p != nil && info.Mode().IsRegular() {
			e.Status("callgate: the token in %v; whoever reads it can answer as you do: %s", p, p.Fix)
		}
	}
	data, err := os.ReadFile(path)
	value := strings.TrimSpace(string(data))
	if err == nil && !strings.HasPrefix(value, protocol.TokenPrefix) {
		err = errors.New("a token begins with " + protocol.TokenPrefix)
	}
	if err != nil {
		return "", &tool.Error{Op: "cli", Kind: tool.Invalid, Err: err,
			Message: "there is no token in " + tool.Truncate(e.tokenFile)}
	}
	return value, nil
}

// Proof is what a person is shown before they say yes, and what they say yes to.
type Proof struct {
	Show func(terminal *os.File) error // nil: it was shown already
	To   string                        // as in: To approve this call
	Else string                        // what happens if they do not
}

// Prove has the person at the terminal type a code of the kernel, and sends it with
// every request from now on. The terminal is the one that this process is
// controlled by, whatever its standard input is: only what is typed there counts.
// It reports whether the person did.
func (e *Env) Prove(ctx context.Context, k *Kernel, ch protocol.Challenge, p Proof) (bool, error) {
	if ch.Code == "" {
		return true, nil
	}
	terminal, err := openTerminal()
	if err != nil {
		return false, &tool.Error{Op: "cli", Kind: tool.Denied, Err: err,
			Message: "there is no terminal here to ask a person",
			Hint:    "do it in a terminal; for a script, a human makes a token there: callgate token create --role approver"}
	}
	defer terminal.Close()
	if p.Show != nil {
		if err := p.Show(terminal); err != nil {
			return false, WriteError(err)
		}
	}
	question := fmt.Sprintf("%s, type %s here; anything else %s > ", p.To, ch.Code, p.Else)
	typed, err := dialog.Ask(ctx, terminal, question)
	if err != nil {
		return false, &tool.Error{Op: "cli", Kind: tool.Cancelled, Message: "nobody answered", Err: err}
	}
	if !strings.EqualFold(typed, ch.Code) {
		return false, nil
	}
	k.ShowCode(typed)
	k.proved = true
	return true, nil
}

// Consent asks the person to accept something that they were shown. already says
// that they accepted it on the command line, which counts where the kernel asks for
// no code.
func (e *Env) Consent(ctx context.Context, k *Kernel, already bool, question string) (bool, error) {
	if k.proved {
		return e.Confirm(already, question)
	}
	ch, err := k.ChallengeConsent(ctx)
	switch {
	case err != nil:
		return false, err
	case ch.Code == "":
		return e.Confirm(already, question)
	}
	return e.Prove(ctx, k, ch, Proof{To: question + " To accept", Else: "accepts nothing"})
}

func openTerminal() (*os.File, error) {
	if runtime.GOOS == "windows" {
		return nil, errors.ErrUnsupported // no kernel there asks for a code
	}
	return os.OpenFile("/dev/tty", os.O_RDWR, 0)
}
