package kernel_test

import (
	"strings"
	"testing"
)

// Every action that the seeds name, of the modules that there are, answers to that name.
func TestNamesOfTheSeeds(t *testing.T) {
	t.Parallel()
	s := openPrimitives(t, `
app: {app_id: all}
tools:
  modules:
    filesystem: {}
    memory: {}
    web: {}
    shell: {}
    agent_spawn: {}
    workspace: {}
    database: {}
    http: {}
    lsp: {}
    queue: {}
    rag: {}
    index: {}
    preview: {}
    tts: {}
    llm_provider: {}
    notion: {}
    email: {config: {address: a@x.test, imap: x.test, smtp: x.test}}
  capabilities: {default_policy: auto}
`)
	for module, names := range map[string]string{
		// Digitorn, by module.
		"filesystem":  "read write edit glob grep Read Write Edit Glob Grep",
		"shell":       "bash Bash",
		"http":        "get post put patch delete head request download upload",
		"web":         "search fetch extract download WebSearch WebFetch",
		"memory":      "task_create task_update set_goal remember",
		"agent_spawn": "agent Agent",
		"workspace":   "write read edit glob grep delete WsWrite WsRead WsEdit WsGlob WsGrep WsDelete",
		"database": "connect disconnect list_connections sql execute_query fetch_results transaction schema list_tables " +
			"describe introspect relations browse search_data bulk_insert extract_for_index",
		"llm_provider": "configure chat remove list_providers get_provider_info update_defaults",
		"index":        "register_source register_extractor scan query relations context invalidate",
		"lsp":          "diagnostics check notify_change request cancel_request",
		"rag":          "query multi_query sql_query stats ingest_text ingest_file clear_cache migrate_embeddings list_models",
		"preview":      "proxy publish detach",
		// Choir, by its names.
		"": "choir.exec choir.fs.read choir.fs.write choir.fs.search choir.tts.speak choir.web.search choir.notion.query " +
			"choir.email.send choir.email.receive choir.email.check choir.memory.query choir.memory.upsert choir.memory.compact",
	} {
		for _, name := range strings.Fields(names) {
			if module != "" && name == strings.ToLower(name) {
				name = module + "." + name
			}
			if found, err := s.View().Tool(t.Context(), name); err != nil {
				t.Errorf("%s: %v", name, err)
			} else if module != "" && found.ID.Namespace != module {
				t.Errorf("%s is %s", name, found.ID.Dotted())
			}
		}
	}
}
