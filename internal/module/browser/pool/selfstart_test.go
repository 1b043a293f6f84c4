package pool_test

import _ "callgate/internal/sandbox/selfstart" // root's browser runs in the sandbox
