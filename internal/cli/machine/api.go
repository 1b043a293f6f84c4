package machine

import (
	"context"

	"github.com/spf13/cobra"

	"callgate/internal/cli/command"
	"callgate/internal/daemon/web"
)

// newAPI is api: what programs must know that use the kernel over HTTP.
func newAPI(e *command.Env) *cobra.Command {
	return e.Group(&cobra.Command{Use: "api", Short: "The kernel's HTTP API"}, e.Leaf(&cobra.Command{
		Use: "openapi", Short: "Print the OpenAPI document of the HTTP API",
		Long: `Print the OpenAPI 3.1 document of what callgate up serves over HTTP, from which
generators make clients. A kernel that runs gives its own as GET /v1/openapi.json.`,
		Example: "  callgate api openapi > openapi.json", Args: cobra.NoArgs,
	}, func(context.Context, []string) error {
		document, err := web.Document()
		if err != nil {
			return err
		}
		return e.Print(string(document))
	}))
}
