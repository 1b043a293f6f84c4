// Package callgate is a gate between language models and their tools, as a Go
// library: the same engine that the callgate program runs.
//
//	kernel, err := callgate.Open(ctx, callgate.Config{State: dir, Tools: tools})
//	session, err := kernel.OpenSession(ctx, callgate.SessionConfig{Workspace: "."})
//	result := session.Call(ctx, "demo.greet", json.RawMessage(`{"name":"Ada"}`))
//
// A [Kernel] holds its state directory alone; every other process of the same
// user is a client of the one that holds it. A [Session] makes calls in one
// folder, under one app's rules. A [Conversation] has a session in which an
// agent's model makes the calls. Calls that need a human wait in [Approvals], what an
// agent asks its user waits in [Questions], and everything that happens is in the
// [Journal].
//
// The words of a tool are in package callgate/tool, those of a model in
// callgate/llm. The directory examples/embed holds a whole program.
package callgate
