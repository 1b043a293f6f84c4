// Package mcpserver lets MCP clients use a kernel: it translates the protocol
// into the kernel's own words and back, and decides nothing.
//
// # Guests
//
// A client is a [guest] with one kernel session, opened when the client
// introduces itself and closed when it goes. Over a byte stream, and over HTTP
// with the old handshake, a guest is one connection. The protocol since
// 2026-07-28 has no connections over HTTP, so there a guest is a name: requests
// under one name share a session, until none has come for a while.
//
// The tools that a guest is shown are its session's surface. They are made once
// and then stay the same, in the same order: nothing that is called, and no
// server that comes or goes, changes them, and nobody is told that they changed.
//
// # Flights
//
// A call is a [flight] that runs apart from the request that started it, and at
// most one request attends to it at a time. A request that is cancelled takes
// its flight with it, unless that waits for a human: a question that was put
// stands until it is answered or its time is up. A request may also leave a
// flight behind on purpose: with a question for the client's human (a request
// that brings the answers takes it up again), or with word that a human must
// approve it elsewhere (repeating the same call takes it up again). Whoever
// takes a flight up is given its result, once.
//
// # Who may answer
//
// What is asked in a client's form is answered by the human at that client, for
// calls of that client's own session and for no others. The kernel itself says
// whether it takes such an answer.
package mcpserver
