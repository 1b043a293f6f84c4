package callgate

import (
	"callgate/llmtool"
	"callgate/tool"
)

// DefineLLMTool makes a tool whose work a language model does. It is registered like any other:
// in Config.Tools, or with Kernel.Register.
func DefineLLMTool(d llmtool.Definition) (*tool.Tool, error) { return llmtool.Define(d) }

// DefineTemplateTool makes such a tool out of one template: its variables are the arguments, and
// the model's text is the result.
func DefineTemplateTool(id, description, template string, models llmtool.Preference) (*tool.Tool, error) {
	return llmtool.DefineTemplate(id, description, template, models)
}

// LLMToolDefinition returns the definition that a tool was made of, if it is such a tool.
func LLMToolDefinition(t *tool.Tool) (llmtool.Definition, bool) { return llmtool.DefinitionOf(t) }
