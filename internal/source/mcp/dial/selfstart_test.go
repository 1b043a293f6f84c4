package dial_test

import _ "callgate/internal/sandbox/selfstart"
