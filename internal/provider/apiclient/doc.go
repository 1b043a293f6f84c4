// Package apiclient is the part that the adapters of all providers share, so that the same conversation
// gives the same response, and the same failure the same error, with every provider.
//
// A [Client] posts a request as JSON and reads the answer, which is an event stream ([EventReader]). The
// adapter knows its provider's JSON: it encodes the request, and its [Assembler] feeds what the events say
// to a [ResponseBuilder]. [ErrorReader] turns failures into errors of package llm, [RejectedParams] learns
// which parameters a model does not accept, and [WithIdleTimeout] aborts requests to a silent server.
//
// # What is sent
//
// A request carries the adapter's headers, then those of the configuration, which win. Nothing is taken
// from the environment but the proxy. A redirect is an error: a key must not follow one to another server.
// The client never repeats a request by itself, except without a parameter that the model rejected;
// everything else is the business of package provider.
package apiclient
