// Package callgate is the one door between language models and their tools,
// as a Go library: the same engine the callgate program runs.
//
//	kernel, err := callgate.Open(ctx, callgate.Config{State: dir})
//	greet, err := tool.Func("demo.greet", "Greets a person by name.", tool.Runtime{SideEffect: tool.None, Risk: tool.Low}, greet)
//	err = kernel.Register("demo", greet)
//	session, err := kernel.OpenSession(ctx, callgate.SessionConfig{Workspace: "."})
//	result := session.Call(ctx, "demo.greet", json.RawMessage(`{"name":"Ada"}`))
//
// A [Kernel] holds its state directory alone; every other process of the same
// user is a client of the one that holds it. This package is where the house
// is wired: it opens the stores, makes the stations and hands them to the
// arbiter. It decides nothing about a call itself.
package callgate
