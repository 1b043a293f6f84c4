package app

import (
	"callgate/internal/app/brain"
	"callgate/internal/app/rules"
)

// unbuiltKeys are keys whose features are designed and not built, by the level
// they belong to. They are refused by name, never ignored.
var unbuiltKeys = map[string]string{
	levelRoot:  "ui flow",
	levelBrain: "image_generation",
}

// The levels of the file.
const (
	levelRoot         = ""
	levelApp          = "app"
	levelRuntime      = "runtime"
	levelContext      = "runtime.context"
	levelScheduler    = "runtime.scheduler"
	levelMiddleware   = "runtime.middleware"
	levelSearch       = "search"
	levelEndpoint     = "search.endpoint"
	levelSecurity     = "security"
	levelDev          = "dev"
	levelTools        = "tools"
	levelModule       = "tools.modules.<module>"
	levelConfig       = "tools.modules.<module>.config"
	levelStep         = "tools.modules.<module>.setup"
	levelConstraints  = "tools.modules.<module>.constraints"
	levelCapabilities = rules.Level
	levelAgent        = "agents"
	levelPromptFile   = "agents.system_prompt"
	levelPool         = "agents.pool"
	levelBrain        = brain.Level
	levelBrainConfig  = brain.ConfigLevel
	levelSkill        = "dev.skills"
	levelInclude      = "dev.include"
	levelProfile      = "profiles.<profile>"
)

// keyHomes says where keys belong that are often written elsewhere.
var keyHomes = map[string]string{
	"app_id": levelApp, "modules": levelTools, "capabilities": levelTools,
	"default_policy": levelCapabilities, "max_risk_level": levelCapabilities,
	"grant": levelCapabilities, "approve": levelCapabilities, "deny": levelCapabilities,
	"hidden_modules": levelCapabilities, "hidden_actions": levelCapabilities,
	"rate_limits": levelCapabilities, "approval_timeout": levelCapabilities,
	"dirs": levelTools, "builtin": levelTools, "constraints": levelModule, "config": levelModule,
	"allowed_actions": levelConstraints, "blocked_actions": levelConstraints,
	"servers": "tools.modules.mcp.config", "mcpServers": "tools.modules.mcp.config.servers", "apis": "tools.modules.openapi.config",
	"tool_injection": levelRuntime, "direct_modules": levelRuntime, "variables": levelDev,
	"system_prompt": levelAgent, "brain": levelAgent, "provider": levelBrain, "model": levelBrain,
	"api_key": levelBrainConfig, "base_url": levelBrainConfig,
	"max_turns": levelRuntime, "entry_agent": levelRuntime, "triggers": levelRuntime, "channels": levelTools,
	"sections": levelContext, "content_filter": levelMiddleware, "mask_secrets": levelMiddleware, "sandbox": levelRuntime,
	"max_data_classification": levelCapabilities,
}
