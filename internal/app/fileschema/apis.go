package fileschema

// apiBlock is an API whose OpenAPI document becomes tools.
func apiBlock() node {
	path := "tools.modules.openapi.config.apis"
	return needs(block(path,
		key{"document", text(),
			"Its OpenAPI document (3.0, 3.1 or Swagger 2.0), as JSON or YAML: a file in the app's folder, or an address."},
		key{"server", pattern(`^https?://`), "The address of the API. Left out: the first of the document's servers."},
		key{"credential", ref("credential"), "The secret that the API is sent, as the document's securitySchemes say."},
		key{"credentials", named(ref("credential")), "Secrets by security scheme, where the API wants several."},
		key{"include", list(text()), "Only these operations: tags, operationIds or names of tools. Left out: all."},
		key{"exclude", list(text()), "Not these operations."},
		key{"private_hosts", list(text()), "Hosts, addresses or prefixes that are reached though they are not public."},
		key{"timeout", duration(), "How long a call may take, such as 30s."},
		key{"refresh", durationFrom(60), "How old a copy of a document of the network may be, such as 24h."},
		key{"pin", boolean(false), "Show nothing of a document of the network before a human accepted it: " +
			"callgate mcp trust NAME."},
		key{"enabled", boolean(true), "false leaves the API out for now."},
	), "document")
}
