package lsp_test

import _ "callgate/internal/sandbox/selfstart" // these tests run language servers in the sandbox
