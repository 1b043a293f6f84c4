// Command embed uses Callgate as a library, in a module of its own: it registers
// a Go function as a tool, calls it, is asked for an approval and answers it,
// finds a tool by what is meant, talks to an agent, and answers what it asks.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"callgate"
	"callgate/tool"
)

func main() {
	if callgate.RunHelpers() { // this process is a helper of the kernel, and has done its work
		return
	}
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	scratch, err := os.MkdirTemp("", "embed")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	workspace := filepath.Join(scratch, "workspace")
	if err := os.Mkdir(workspace, 0o700); err != nil {
		return err
	}
	tools, err := ourTools()
	if err != nil {
		return err
	}
	kernel, err := callgate.Open(ctx, callgate.Config{State: filepath.Join(scratch, "state"), Tools: tools})
	if err != nil {
		return err
	}
	defer kernel.Close()
	for _, step := range []func(context.Context, *callgate.Kernel, string) error{call, approve, search, talk, answer} {
		if err := step(ctx, kernel, workspace); err != nil {
			return err
		}
	}
	return nil
}

// ourTools makes tools of Go functions. Their schemas come from the types.
func ourTools() ([]*tool.Tool, error) {
	type person struct {
		Name  string `json:"name" jsonschema:"whom to greet"`
		Times int    `json:"times,omitempty" jsonschema:"how often"`
	}
	greet, err := tool.Func("demo.greet", "Greets a person by name.",
		tool.Runtime{Risk: tool.Low, SideEffect: tool.None},
		func(_ context.Context, p person) (string, error) {
			return fmt.Sprintf("hello %s ×%d", p.Name, max(1, p.Times)), nil
		})
	if err != nil {
		return nil, err
	}
	type target struct {
		City string `json:"city" jsonschema:"the city to launch at"`
	}
	launch, err := tool.Func("demo.launch", "Launches fireworks in a city.",
		tool.Runtime{Risk: tool.High, SideEffect: tool.External}, // so a human is asked first
		func(_ context.Context, t target) (string, error) { return "fireworks over " + t.City, nil })
	return []*tool.Tool{greet, launch}, err
}

// call makes one call. The name is spelt loosely and a number came as text: both
// are understood, and the result says so.
func call(ctx context.Context, k *callgate.Kernel, workspace string) error {
	session, err := k.OpenSession(ctx, callgate.SessionConfig{Workspace: workspace})
	if err != nil {
		return err
	}
	defer session.Close()
	result := session.Call(ctx, "Demo__Greet", json.RawMessage(`{"name":"Ada","times":"2"}`))
	fmt.Println("call:", result.Status, string(result.Data), result.Warnings)
	return result.Err()
}

// approve makes a call that a human has to approve, and answers as that human:
// the program that holds the kernel knows who sits in front of it.
func approve(ctx context.Context, k *callgate.Kernel, workspace string) error {
	asked := make(chan callgate.Approval, 1)
	session, err := k.OpenSession(ctx, callgate.SessionConfig{
		Workspace: workspace, OnApproval: func(a callgate.Approval) { asked <- a },
	})
	if err != nil {
		return err
	}
	defer session.Close()
	done := make(chan *tool.Result)
	go func() { done <- session.Call(ctx, "demo.launch", json.RawMessage(`{"city":"Paris"}`)) }()
	a := <-asked
	fmt.Printf("approve: %s %s (%s)\n", a.Call.Tool.Dotted(), a.Call.Args, a.Reason)
	edited := json.RawMessage(`{"city":"Lyon"}`)
	if err := k.Approvals().Answer(ctx, a.ID, callgate.Answer{Approve: true, Args: edited, By: "ada"}); err != nil {
		return err
	}
	result := <-done
	fmt.Println("approved:", result.Status, string(result.Data))
	return result.Err()
}

// search finds a tool by what is meant, here in French.
func search(ctx context.Context, k *callgate.Kernel, workspace string) error {
	session, err := k.OpenSession(ctx, callgate.SessionConfig{Workspace: workspace})
	if err != nil {
		return err
	}
	defer session.Close()
	found, err := session.Search(ctx, callgate.Search{Queries: []string{"lire un fichier"}, Limit: 1})
	if err != nil {
		return err
	}
	fmt.Println("search:", found.Answers[0].Hits[0].Name)
	return nil
}

// talk has an agent answer. Its model is the program's own; an app file in the
// workspace would name one of a provider.
func talk(ctx context.Context, k *callgate.Kernel, workspace string) error {
	conversation, err := k.OpenConversation(ctx, callgate.ConversationConfig{Workspace: workspace, Model: greeter{}})
	if err != nil {
		return err
	}
	defer conversation.Close()
	for event, err := range conversation.Send(ctx, "greet Grace, please") {
		if err != nil {
			return err
		}
		switch event.Kind {
		case callgate.EventResult:
			fmt.Println("agent called:", event.Call.Name, event.Call.Result.Status)
		case callgate.EventEnd:
			fmt.Println("agent said:", event.End.Answer)
		}
	}
	return nil
}

// answer has an agent ask its user, and answers as that user: a form, field by field.
func answer(ctx context.Context, k *callgate.Kernel, workspace string) error {
	conversation, err := k.OpenConversation(ctx, callgate.ConversationConfig{Workspace: workspace, Model: asker{}})
	if err != nil {
		return err
	}
	defer conversation.Close()
	for event, err := range conversation.Send(ctx, "serve my pages, please") {
		if err != nil {
			return err
		}
		switch event.Kind {
		case callgate.EventQuestion:
			q := event.Question
			for _, f := range q.Form {
				fmt.Printf("question: %s %s (%s)\n", q.Text, f.Label, f.Type)
			}
			reply := callgate.Reply{Fields: map[string]any{"port": "8080"}, By: "ada"}
			if err := k.Questions().Answer(ctx, q.ID, reply); err != nil {
				return err
			}
		case callgate.EventEnd:
			fmt.Println("agent said:", event.End.Answer)
		}
	}
	return nil
}
