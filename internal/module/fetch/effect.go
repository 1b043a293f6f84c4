package fetch

import "callgate/tool"

// OnHost is the effect of a request on the host of its argument url. In an intention
// mode (IS, IX) it keeps nobody waiting; within one answer a request comes after an
// earlier one that changes something at the same host, and beside those to others.
// A redirect to another host is not known before.
func OnHost(mode tool.Mode) tool.Effect { return tool.Effect{Resource: "host:{url|host}", Mode: mode} }
