package control

// The descriptions of the discovery tools. The surface replaces {{catalog}} with
// a description of the tools that can be found: a model ignores a search tool that does not
// say what it searches.
const (
	searchText = "Find tools by what you want to do, in any language. " +
		"Not all tools are listed to you: look here before you say that something cannot be done. " +
		"{{catalog}} " +
		"Give one query, or several in queries for a task with several parts; " +
		"parts that nothing answers come back in unmatched. " +
		"Then call a tool that was found by its name, or with execute_tool."
	getText = "Everything about one tool: what it does, its parameters as a JSON Schema, examples, risk. " +
		"Use it before you call a tool whose parameters you do not know."
	executeText = "Call any tool by its name, with its parameters in params. " +
		"If the parameters are wrong the answer says how, with the schema: mend them and call again."
	categoriesText = "List the categories of tools there are, with the number of tools in each. {{catalog}}"
	browseText     = "List the tools of one category, 20 to a page, with one line about each."
	collectText    = "Get the result of a call that answered \"waiting for approval\", by the id of the approval. " +
		"It tells whether the human has answered, and never answers in their place."
)

// The schemas. Parameters marked x-hidden are accepted and not shown: models
// write them by habit.
const (
	searchSchema = `{"type":"object","properties":{
		"query":{"type":"string","maxLength":500,"description":"what you want to do, in your own words"},
		"queries":{"type":"array","items":{"type":"string","maxLength":500},"maxItems":20,` +
		`"description":"several queries at once"},
		"max_results":{"type":"integer","minimum":1,"maximum":20,"default":5,"description":"for each query"},
		"category":{"type":"string","maxLength":128,"description":"only tools of this category"},
		"max_risk":{"type":"string","enum":["low","medium","high"]},
		"detail":{"type":"boolean","default":false,"description":"whole parameter schemas too"},
		"limit":{"type":"integer","minimum":1,"maximum":200,"x-hidden":true},
		"page":{"type":"integer","minimum":1,"maximum":100000,"x-hidden":true},
		"tag":{"type":"string","x-hidden":true}}}`
	getSchema = `{"type":"object","properties":{
		"name":{"type":"string","maxLength":256,"description":"the tool's name, as search_tools gives it"},
		"tool_name":{"type":"string","x-hidden":true},
		"tool":{"type":"string","x-hidden":true}}}`
	executeSchema = `{"type":"object","properties":{
		"name":{"type":"string","maxLength":256,"description":"the tool's name"},
		"params":{"type":"object","description":"the tool's parameters"}},
		"additionalProperties":true}`
	categoriesSchema = `{"type":"object","properties":` +
		`{"page":{"type":"integer","minimum":1,"maximum":100000,"default":1}}}`
	browseSchema = `{"type":"object","properties":{
		"category":{"type":"string","maxLength":128,"description":"its id, as list_categories gives it"},
		"page":{"type":"integer","minimum":1,"maximum":100000,"default":1}},"required":["category"]}`
	collectSchema = `{"type":"object","properties":{
		"approval":{"type":"string","maxLength":64,"description":"the id that the waiting call gave"},
		"wait_seconds":{"type":"integer","minimum":0,"maximum":60,"default":20,` +
		`"description":"how long to wait for the human"}},"required":["approval"]}`
)
