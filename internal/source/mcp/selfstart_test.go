package mcp_test

import _ "callgate/internal/sandbox/selfstart"
