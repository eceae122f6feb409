package modelstub

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// answer is a turn on its way to a client.
type answer struct {
	number int
	model  string
	pieces []string
	call   *call
	usage  Usage
}

func (a answer) whole() string { return strings.Join(a.pieces, "") }

func (a answer) id(prefix string) string { return fmt.Sprintf("%s_stub%03d", prefix, a.number) }

// call is a tool call; args is its JSON.
type call struct{ id, name, args string }

// tool is a tool a client offers.
type tool struct {
	name       string
	properties map[string]json.RawMessage
}

// dialect is one wire format.
type dialect interface {
	tools(body []byte) []tool
	begin(*sse, answer)
	text(s *sse, a answer, piece string)
	end(*sse, answer)
	failure(t trouble, status int) object
}

func dialectFor(path string) dialect {
	switch {
	case strings.HasSuffix(path, "/v1/messages"):
		return anthropic{}
	case strings.HasSuffix(path, "/responses"):
		return responses{}
	case strings.HasSuffix(path, "/chat/completions"):
		return chat{}
	case strings.HasSuffix(path, ":streamGenerateContent"):
		return gemini{}
	}
	return nil
}

// shells are the names the programs have for their shell tool.
var shells = []string{"Bash", "bash", "exec_command", "run_shell_command", "shell_command", "shell", "local_shell"}

// callFor makes the tool call of a turn, nil if it has none. A script that asks
// for a shell where none is offered says so in words.
func callFor(t Turn, number int, tools []tool) *call {
	id := fmt.Sprintf("call_stub%03d", number)
	if t.Tool != "" {
		args := string(t.Args)
		if args == "" {
			args = "{}"
		}
		return &call{id, t.Tool, args}
	}
	if t.Shell == "" {
		return nil
	}
	i := slices.IndexFunc(tools, func(o tool) bool { return slices.Contains(shells, o.name) })
	if i < 0 {
		return nil
	}
	args := object{}
	for name := range tools[i].properties {
		switch name {
		case "cmd", "command":
			args[name] = t.Shell
		case "description":
			args[name] = "scripted"
		case "is_background":
			args[name] = false
		}
	}
	raw, err := json.Marshal(args)
	if err != nil {
		panic(err) // strings and booleans always marshal
	}
	return &call{id, tools[i].name, string(raw)}
}

// offered reads a list of tools in any of the formats: flat or below "function",
// with its schema under one of three names, or grouped by functionDeclarations.
func offered(list []json.RawMessage) []tool {
	type schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	type flat struct {
		Name                 string            `json:"name"`
		InputSchema          schema            `json:"input_schema"`
		Parameters           schema            `json:"parameters"`
		ParametersJSONSchema schema            `json:"parametersJsonSchema"`
		Function             json.RawMessage   `json:"function"`
		Declarations         []json.RawMessage `json:"functionDeclarations"`
	}
	var out []tool
	for _, raw := range list {
		var f flat
		if json.Unmarshal(raw, &f) != nil {
			continue
		}
		if f.Function != nil {
			out = append(out, offered([]json.RawMessage{f.Function})...)
			continue
		}
		out = append(out, offered(f.Declarations)...)
		if f.Name == "" {
			continue
		}
		o := tool{f.Name, map[string]json.RawMessage{}}
		for _, s := range []schema{f.InputSchema, f.Parameters, f.ParametersJSONSchema} {
			for k, v := range s.Properties {
				o.properties[k] = v
			}
		}
		out = append(out, o)
	}
	return out
}

// toolsOf reads the tools of a request whose body has them under "tools".
func toolsOf(body []byte) []tool {
	var b struct {
		Tools []json.RawMessage `json:"tools"`
	}
	if json.Unmarshal(body, &b) != nil {
		return nil
	}
	return offered(b.Tools)
}
