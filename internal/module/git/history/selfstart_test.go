package history_test

import _ "callgate/internal/sandbox/selfstart" // these tests run commands in the sandbox
