package doctor

import "callgate/internal/sandbox"

// serversCheck reports what is hidden from an MCP server that is contained.
func serversCheck(r sandbox.Report) Check {
	c := Check{
		Group: GroupSandbox, Name: "MCP servers", State: OK, Purpose: "keeping servers from what Callgate keeps",
		Found: "the state directory and private folders are hidden from contained servers",
	}
	switch {
	case !sandbox.Supervises():
		c.State = Warning
		c.Found = "the state directory is not hidden from servers, and what they start may outlive them"
		c.Fix = "run Callgate on Linux where you do not trust the servers"
	case !r.Namespaces:
		c.State = Warning
		c.Found = "the state directory and private folders are not hidden from contained servers; " +
			"sandboxed ones are refused, unless an app file says runtime.sandbox: relaxed"
		c.Fix = "permit user namespaces: see above"
		if r.Level != sandbox.Process {
			c.Found = "the state directory and private folders are not hidden from contained servers: " +
				"write isolation: sandboxed"
		}
	}
	return c
}
