// Package mcpserver lets MCP clients use a kernel: it translates the protocol
// for the kernel and back, and decides nothing.
//
// # Clients
//
// A [client] has one kernel session, opened when the client introduces itself
// and closed when it leaves. Over a byte stream, and over HTTP with the stateful
// protocol, a client is one connection. The protocol since 2026-07-28 has no
// connections over HTTP, so there a client is a name: requests with one name
// share a session, until none has come for a while.
//
// The tools that a client is shown are its session's surface. They are listed
// once and then stay the same, in the same order: no call, and no server that
// starts or stops, changes them, and no client is notified that they changed. Only a
// bridge, which may have shown its client the list of an earlier kernel, notifies it.
//
// A bridge numbers the calls of its client (callid.Key). Their IDs, and that of
// the client's session, are the same at every kernel: a call that is sent again is looked
// up in the journal first.
//
// # Calls
//
// Package calls has the law: a call runs apart from the request that started it,
// and may be suspended and resumed by another request.
//
// # Approvals
//
// A form at a client is answered by the human at that client, for calls of that
// client's own session and for no others. The kernel itself decides whether it
// accepts such an answer.
package mcpserver
