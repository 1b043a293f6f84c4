package fileschema

// serverBlock is an MCP server: a program that is started, or an address.
func serverBlock() node {
	path := "tools.modules.mcp.config.servers"
	n := block(path,
		key{"command", anyOf(text(), list(scalar()).with("minItems", 1)),
			"The program that is the server, alone or with its arguments. It may hold {{secret.NAME}}, as all of these " +
				"may."},
		key{"args", list(scalar()), "Its arguments."},
		key{"env", named(scalar()), "Variables of its environment."},
		key{"env_allow", list(text()), "Variables of the kernel's own environment that it is given."},
		key{"dir", text(), "The folder that it works for, relative to the app file: {{workdir}} and relative paths of args mean it."},
		key{"cwd", enum("own", "own", "workspace"),
			"Where it starts. own: in a folder of its own, which no tool writes. workspace: in the folder that it works for, from " +
				"which it may load code; then it is sandboxed."},
		key{"url", pattern(`^https?://`), "The address of a remote server."},
		key{"headers", named(scalar()), "Headers of every request to it."},
		key{"oauth", block(path+".oauth",
			key{"client_id", text(), "The client as which it knows us. Left out: we are registered as we log in."},
			key{"client_secret", text(), "That client's secret: {{secret.NAME}}. It is used with an issuer only."},
			key{"issuer", pattern(`^https?://`), "The authorization server that gave the client, as it names itself. A " +
				"login of any other is refused. Left out: the first login pins the one that the server names."},
			key{"callback_port", integer(1, 65535), "The port on this machine to which the login returns."},
			key{"scopes", list(text()), "What is asked for."},
		), "What its login needs to know: callgate mcp login NAME."},
		key{"transport", enum("", "stdio", "http", "sse"),
			"How it is spoken to. Left out: a command over stdio, a url over HTTP."},
		key{"protocol", enum("", protocols...), "The version of MCP it is spoken to in. Left out: the newest that it knows."},
		key{"timeout", duration(), "How long a call may take, such as 30s."},
		key{"start_timeout", duration(), "How long it may take to start, such as 30s."},
		key{"concurrency", integer(1, 256), "How many calls it may have under way at once."},
		key{"isolation", enum("", "contained", "sandboxed", "none"),
			"What a command is kept from. sandboxed: from all but its folder, the system's programs and a package cache. " +
				"contained: from what Callgate keeps and from places that are known to hold credentials; it reads the rest of " +
				"your home folder. none: from nothing. What the machine cannot do is refused. Left out: sandboxed, and " +
				"contained in the user's own file."},
		key{"network", boolean(false), "A sandboxed server has the network."},
		key{"readable", list(text()), "Files and folders that it sees too: private ones when contained, any when sandboxed."},
		key{"writable", list(text()), "Files and folders that it may write too."},
		key{"enabled", boolean(true), "false leaves the server out for now."},
		key{"pin", boolean(false), "Show nothing of it before a human accepted it: callgate mcp trust NAME."},
		key{"tools", named(serverTool(path + ".tools")), "Your own word on tools of it, which goes before the server's."},
		key{"locks", serverLocks(path + ".locks"),
			"What its calls lock while they run, by the name of a tool, or a pattern such as write_*. It goes before the " +
				"ready map of a well-known server. off: nothing."},
	)
	return n.with("type", "object").with("oneOf", []node{{"required": []string{"command"}}, {"required": []string{"url"}}})
}

var protocols = []string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

// duration is a time such as 30s, or a number of seconds.
func duration() node { return durationFrom(1) }

// durationFrom is a time of so many seconds at least.
func durationFrom(least int) node {
	return anyOf(integer(least, 86_400), pattern(`^([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)`))
}

func serverTool(path string) node {
	return block(path,
		key{"risk", enum("", "low", "medium", "high"), "How much harm a call can do."},
		key{"side_effect", enum("", "none", "read", "write", "external"), "What a call does to the world."},
		key{"idempotent", boolean(false), "Running it twice is running it once."},
		key{"enabled", boolean(true), "false leaves the tool out."},
		key{"effects", list(needs(block(path+".effects",
			key{"resource", text(), "What a call touches, such as repo:{owner}/{repo}, with parameters of the call in braces."},
			key{"mode", enum("", "IS", "IX", "S", "U", "X"),
				"How. S: it reads. X: it writes, alone. U: it writes, and others may read. IS and IX: something below it."},
			key{"when", text(), "The effect counts only where this parameter is set."},
			key{"unless", list(text()), "The effect counts only where none of these parameters is set."},
		), "resource", "mode")), "What a call locks while it runs."},
	).with("title", path)
}

// serverLocks is what the calls of a server lock.
func serverLocks(path string) node {
	resource := pattern(`^(server$|(file|repo|db|server):.)`)
	one := anyOf(resource, needs(block(path,
		key{"resource", resource, "What is locked, such as file:{path}, with a parameter of the call in braces. A relative " +
			"path begins in the server's folder. server: the server itself, or with a name something of its own."},
		key{"mode", enum("", "IS", "IX", "S", "U", "X"),
			"How. Left out: X for a tool that changes, alone, and S for one that reads, with others that read."},
	), "resource"))
	return anyOf(enum("", "off"), named(anyOf(resource, list(one))))
}
