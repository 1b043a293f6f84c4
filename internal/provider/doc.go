// Package provider makes models of configurations: it knows the providers by
// name, finds their address and key, and wraps the adapter of their API so that
// requests are counted, priced, bounded and, where that helps, made again.
//
// An adapter (openai, anthropic) speaks one API and nothing else; exchange holds
// what they share, and catalog what is known of models. The SDKs of the
// providers are not seen outside their adapters.
package provider
