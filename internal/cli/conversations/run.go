package conversations

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"callgate/internal/cli/command"
	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/tool"
)

const runLong = `Run an agent of an app: it reads what you ask for, calls tools through the
gate, and answers. The answer goes to standard output, what it does to standard
error.

With -p, or with a prompt on standard input, it takes one turn; with both, what
standard input says is part of the request. At a terminal without either it asks
for the next line until you end it (Ctrl-D). Ctrl-C stops what it is doing, and
ends the command. The conversation is kept: see callgate sessions. --continue goes
on with the last one of this folder, --resume with another one.

--image gives the model a picture, with what is asked for: PNG, JPEG, GIF or WebP, up
to 5 MiB each, 10 of them and 25 MiB together.

-q prints the last answer and nothing else. --json writes one event on each line,
also for failures: docs/guides/scripts.md lists them. The exit code says how the turn
ended: callgate exit-codes.

A call that needs a human asks at the terminal. Without one here it is refused at once,
standard error says which flag would allow it, and the exit code is 9; with --wait it
waits until somebody answers elsewhere (callgate approvals). --allow and --mode say what
runs unasked; they never allow what the rules deny. They are a human's to say: at a
terminal, or with a token for scripts (callgate token create --role approver).

An app without agents, and one whose brain is "offline", is answered by the
embedded stand-in, which is no language model: it finds a tool for your words,
fills in what is obvious, calls it and reports.`

// run is run.
type run struct {
	turns
	agent string
	from  string // the ID of an earlier conversation
	goOn  bool   // the last conversation of this folder
}

func newRun(e *command.Env) *cobra.Command {
	r := &run{turns: turns{opener: opener{Env: e}}}
	c := e.Leaf(&cobra.Command{
		Use: "run [APP.yaml]", Short: "Run an agent of an app", Long: runLong,
		Example: `  callgate run -p "list the files here"
  callgate run app.yaml -p "what changed in the last commit?"
  git diff | callgate run -p "review this" -q
  callgate run --image shot.png -p "what is wrong with this page?"
  callgate run --continue -p "and now the tests"
  callgate run --mode accept-edits --allow 'shell: go test *' -p "mend the test"
  callgate run app.yaml --json -p "…"        one event on each line`,
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: command.CompleteFiles,
	}, r.run)
	c.Flags().StringVarP(&r.prompt, "prompt", "p", "", "the `PROMPT` of one turn")
	c.Flags().StringArrayVar(&r.images, "image", nil, "a picture `FILE` that goes with -p; again for several")
	c.Flags().StringVar(&r.agent, "agent", "", "talk to `AGENT` (default the app's entry_agent)")
	c.Flags().BoolVarP(&r.quiet, "quiet", "q", false, "print only the last answer")
	c.Flags().StringVar(&r.from, "resume", "", "go on with the conversation with this `ID`: see callgate sessions list")
	c.Flags().BoolVarP(&r.goOn, "continue", "c", false, "go on with the last conversation of this folder and app")
	r.permits.bind(e, c)
	r.permits.bindWait(c)
	c.MarkFlagsMutuallyExclusive("resume", "continue", "agent")
	r.bindCost(c)
	_ = c.RegisterFlagCompletionFunc("resume", command.CompleteFirst(completeID(e)))
	return c
}

func (r *run) run(ctx context.Context, args []string) error {
	if len(args) == 1 {
		r.AppFile = args[0]
	}
	return r.asEvent(r.turn(ctx))
}

func (r *run) turn(ctx context.Context) error {
	if err := r.checkCost(); err != nil {
		return err
	}
	if err := r.read(ctx); err != nil {
		return err
	}
	if _, err := r.readPictures(); err != nil {
		return err
	}
	if r.goOn || r.from != "" {
		return r.resume(ctx, origin{r.from, r.goOn})
	}
	prompt, one, err := r.request() // before a conversation is opened in vain
	if err != nil {
		return err
	}
	if !one && len(r.images) > 0 {
		return tool.Errorf(opRequest, tool.Invalid, "--image goes with a request").
			WithHint(`say what: callgate run --image FILE -p "…"`)
	}
	return r.with(ctx, r.agent, origin{}, func(k *command.Kernel, c *client.Conversation) error {
		p := newTurnPrinter(r.Env, k, c, r.quiet)
		p.head()
		if one {
			return r.one(ctx, p, c, prompt)
		}
		return r.interactive(ctx, p, c)
	})
}

// asEvent writes a failure outside a turn as an event, where events are written: who
// reads them reads line by line.
func (r *run) asEvent(err error) error {
	var failure *tool.Error
	if !r.JSON || err == nil || command.IsExit(err) {
		return err
	}
	if !errors.As(err, &failure) {
		failure = &tool.Error{Op: opRequest, Kind: tool.Failed, Message: err.Error()}
	}
	if err := r.WriteJSONLine(protocol.TurnEvent{Failure: failure}); err != nil {
		return err
	}
	return command.Exit(command.CodeOf(failure.Kind))
}
