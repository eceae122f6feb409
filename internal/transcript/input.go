package transcript

import (
	"encoding/json"
	"regexp"
	"strings"
)

// Input is what a call was given, as far as its effect can be told by it.
type Input struct {
	Command string // a shell command line
	Dir     string // where the command was to run, if it says
	Files   []File
}

func (in Input) empty() bool { return in.Command == "" && len(in.Files) == 0 }

// File is a change of one file that a call set out to make.
type File struct {
	Path   string
	Write  *string // the whole content it should have
	Edits  []Edit
	Delete bool
	MoveTo string
}

// Edit is a part that should be replaced.
type Edit struct{ Old, New string }

// Of texts that are kept.
const (
	maxCommand = 64 << 10
	maxContent = 8 << 20
	maxFiles   = 200
)

// rawInput is the union of the arguments that the tools of all CLIs have.
type rawInput struct {
	Command   json.RawMessage `json:"command"`
	Cmd       json.RawMessage `json:"cmd"`
	Script    text            `json:"script"`
	Workdir   text            `json:"workdir"`
	Directory text            `json:"directory"`
	Dir       text            `json:"dir_path"`
	Cwd       text            `json:"cwd"`

	FilePath     text `json:"file_path"`
	FilePath2    text `json:"filePath"`
	Path         text `json:"path"`
	AbsolutePath text `json:"absolute_path"`
	Notebook     text `json:"notebook_path"`

	Content  *string `json:"content"`
	FileText *string `json:"file_text"`
	rawEdit
	Edits list[rawEdit] `json:"edits"`

	Patch     text `json:"patch"`
	PatchText text `json:"patchText"`
	Input     text `json:"input"`
}

type rawEdit struct {
	Old  *string `json:"old_string"`
	New  *string `json:"new_string"`
	Old2 *string `json:"oldString"`
	New2 *string `json:"newString"`
	Old3 *string `json:"old_str"`
	New3 *string `json:"new_str"`
}

func (e rawEdit) edit() (Edit, bool) {
	for _, p := range [][2]*string{{e.Old, e.New}, {e.Old2, e.New2}, {e.Old3, e.New3}} {
		if p[0] != nil && p[1] != nil {
			return Edit{*p[0], *p[1]}, true
		}
	}
	return Edit{}, false
}

// parseInput reads the arguments of a call: an object, the same as text, or the
// text of a patch.
func parseInput(raw json.RawMessage) Input {
	var inner string
	if json.Unmarshal(raw, &inner) == nil {
		if strings.Contains(inner, patchBegin) && !isObject([]byte(inner)) {
			return Input{Files: parsePatch(inner)}
		}
		raw = json.RawMessage(inner)
	}
	var r rawInput
	decode(raw, &r)
	in := Input{Command: commandText(r.Command)}
	if in.Command == "" {
		in.Command = commandText(r.Cmd)
	}
	in.Command = clip(firstOf(in.Command, string(r.Script)), maxCommand)
	in.Dir = firstOf(string(r.Workdir), string(r.Directory), string(r.Dir), string(r.Cwd))
	for _, patch := range []string{string(r.Patch), string(r.PatchText), string(r.Input), in.Command} {
		if strings.Contains(patch, patchBegin) {
			in.Files = append(in.Files, parsePatch(patch)...)
		}
	}
	if f := (File{Path: firstOf(string(r.FilePath), string(r.FilePath2), string(r.AbsolutePath), string(r.Notebook), string(r.Path))}); f.Path != "" {
		for _, content := range []*string{r.Content, r.FileText} {
			if content != nil && len(*content) <= maxContent {
				f.Write = content
			}
		}
		for _, e := range append([]rawEdit{r.rawEdit}, r.Edits...) {
			if edit, ok := e.edit(); ok {
				f.Edits = append(f.Edits, edit)
			}
		}
		in.Files = append(in.Files, f)
	}
	in.Files = in.Files[:min(len(in.Files), maxFiles)]
	return in
}

// commandText is a command line, given as text or as a list of words.
func commandText(raw json.RawMessage) string {
	var line string
	if json.Unmarshal(raw, &line) == nil {
		return line
	}
	var words []string
	if json.Unmarshal(raw, &words) != nil {
		return ""
	}
	if len(words) == 3 && (words[1] == "-c" || words[1] == "-lc") {
		return words[2]
	}
	for i, w := range words {
		if strings.ContainsAny(w, " \t\n'\"$`;&|<>()*?") {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

func firstOf(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// clip cuts text at a whole character.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "")
}

const patchBegin = "*** Begin Patch"

// parsePatch reads the patches of apply_patch.
func parsePatch(patch string) []File {
	_, patch, _ = strings.Cut(patch, patchBegin)
	patch, _, whole := strings.Cut(patch, "*** End Patch")
	var out []File
	var added, old, now []string
	flush := func() {
		if len(out) > 0 && (len(old) > 0 || len(now) > 0) {
			f := &out[len(out)-1]
			f.Edits = append(f.Edits, Edit{strings.Join(old, "\n"), strings.Join(now, "\n")})
		}
		old, now = nil, nil
	}
	end := func() {
		flush()
		if n := len(out); n > 0 && out[n-1].Write != nil {
			content := strings.Join(added, "")
			out[n-1].Write = &content
		}
		added = nil
	}
	for line := range strings.Lines(patch) {
		line = strings.TrimRight(line, "\r\n")
		begin := func(prefix string) (File, bool) {
			name, ok := strings.CutPrefix(line, prefix)
			if ok {
				end()
			}
			return File{Path: strings.TrimSpace(name)}, ok && len(out) < maxFiles
		}
		if f, ok := begin("*** Add File: "); ok {
			f.Write = new(string)
			out = append(out, f)
		} else if f, ok := begin("*** Delete File: "); ok {
			f.Delete = true
			out = append(out, f)
		} else if f, ok := begin("*** Update File: "); ok {
			out = append(out, f)
		} else if to, ok := strings.CutPrefix(line, "*** Move to: "); ok && len(out) > 0 {
			out[len(out)-1].MoveTo = strings.TrimSpace(to)
		} else if strings.HasPrefix(line, "@@") || strings.HasPrefix(line, "***") {
			flush()
		} else if len(out) > 0 && out[len(out)-1].Write != nil {
			if rest, ok := strings.CutPrefix(line, "+"); ok {
				added = append(added, rest+"\n")
			}
		} else if len(out) > 0 {
			hunkLine(line, &old, &now)
		}
	}
	end()
	if !whole { // cut short: what should become of the last file is not known
		for i := range out {
			out[i].Write, out[i].Edits = nil, nil
		}
	}
	return out
}

func hunkLine(line string, old, now *[]string) {
	switch {
	case strings.HasPrefix(line, "+"):
		*now = append(*now, line[1:])
	case strings.HasPrefix(line, "-"):
		*old = append(*old, line[1:])
	default:
		line = strings.TrimPrefix(line, " ")
		*old, *now = append(*old, line), append(*now, line)
	}
}

// stillRuns are the words by which results tell that a command goes on.
var stillRuns = regexp.MustCompile(`(?i)process running with session id|running in (the )?background with id|still running in (the )?background|command is running in background|started in background`)

// goesOn reports whether a result says no more than that. Only its beginning
// counts: the rest is what the command printed.
func goesOn(result string) bool { return stillRuns.MatchString(clip(result, 400)) }
