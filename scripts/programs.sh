# Builds the program, and what the scripts run beside it, into bin/. Scripts source this
# file. `make test` builds once and says so in CALLGATE_BUILT; nothing is built again then.
[ -n "${CALLGATE_BUILT:-}" ] || CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o bin/ \
  ./cmd/callgate ./scripts/person ./scripts/otheruser ./scripts/soak \
  github.com/modelcontextprotocol/go-sdk/conformance/everything-server
