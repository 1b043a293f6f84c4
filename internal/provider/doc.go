// Package provider makes models out of configurations. It knows the providers by name, finds their address
// and key, and wraps the adapter of their API: it limits concurrent requests, bounds their time, prices their
// usage and retries them.
//
// An adapter (openai, anthropic) speaks one API and does nothing else; apiclient has what the adapters share,
// and catalog what is known about models. A provider's JSON stays in its adapter.
package provider
