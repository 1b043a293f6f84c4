package isolation_test

import _ "callgate/internal/sandbox/selfstart"
