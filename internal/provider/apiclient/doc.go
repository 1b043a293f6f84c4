// Package exchange is what the adapters of all providers share, so that the
// same conversation gives the same answer and the same failure gives the same
// error, whoever served it: [ResponseBuilder] grows an answer out of pieces, [ErrorReader]
// reads failures, and [WithIdleTimeout] gives up on a server that has gone silent.
package apiclient
