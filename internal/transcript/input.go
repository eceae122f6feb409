package transcript

import (
	"regexp"
	"strings"
	"sync"

	"reprise/internal/loose"
)

// Input is what a call was given, as far as its effect can be told by it.
type Input struct {
	Command string // a shell command line
	Cut     bool   // parts of it are left out: it is too long to be kept
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

// Fields of the tools of all CLIs, by what they mean.
var (
	commandFields = []string{"command", "cmd", "script"}
	dirFields     = []string{"workdir", "directory", "dir_path", "cwd"}
	pathFields    = []string{"file_path", "filePath", "absolute_path", "notebook_path", "path"}
	contentFields = []string{"content", "file_text"}
	patchFields   = []string{"patch", "patchText", "input"}
	editFields    = [][2]string{{"old_string", "new_string"}, {"oldString", "newString"}, {"old_str", "new_str"}}
)

// edit adds what a call, or one of its edits, says should be replaced.
func (f *File) edit(v loose.Value) {
	for _, names := range editFields {
		old, ok := v.At(names[0]).String()
		now, both := v.At(names[1]).String()
		if ok && both {
			f.Edits = append(f.Edits, Edit{old, now})
			return
		}
	}
}

// parseInput reads the arguments of a call: an object, the same as text, or the
// text of a patch.
func parseInput(v loose.Value) Input {
	if inner := v.Text(); inner != "" {
		parsed, ok := loose.Object([]byte(strings.TrimSpace(inner)))
		if !ok && strings.Contains(inner, patchBegin) {
			return Input{Files: parsePatch(inner)}
		}
		v = parsed
	}
	in := Input{Dir: v.First(dirFields...)}
	for _, name := range commandFields {
		if in.Command == "" {
			whole := commandText(v.At(name))
			in.Command, in.Cut = Brief(whole, maxCommand), len(whole) > maxCommand
		}
	}
	var patches []string
	for _, name := range patchFields {
		patches = append(patches, v.Text(name))
	}
	for _, patch := range append(patches, in.Command) {
		if strings.Contains(patch, patchBegin) {
			in.Files = append(in.Files, parsePatch(patch)...)
		}
	}
	if f := (File{Path: v.First(pathFields...)}); f.Path != "" {
		for _, name := range contentFields {
			if content, ok := v.At(name).String(); ok && len(content) <= maxContent {
				f.Write = &content
			}
		}
		for _, e := range append([]loose.Value{v}, v.List("edits")...) {
			f.edit(e)
		}
		in.Files = append(in.Files, f)
	}
	in.Files = in.Files[:min(len(in.Files), maxFiles)]
	return in
}

// commandText is a command line, given as text or as a list of words.
func commandText(v loose.Value) string {
	var words []string
	for _, w := range v.List() {
		word, ok := w.String()
		if !ok {
			return ""
		}
		words = append(words, word)
	}
	switch {
	case len(words) == 0:
		return v.Text()
	case len(words) == 3 && (words[1] == "-c" || words[1] == "-lc"):
		return words[2]
	}
	for i, w := range words {
		if strings.ContainsAny(w, " \t\n'\"$`;&|<>()*?") {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
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

// stillRuns are the words of results which say that a command keeps running.
var stillRuns = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)process running with session id|running in (the )?background with id|still running in (the )?background|command is running in background|command .{0,40}is still running|started in background`)
})

// goesOn reports whether a result says no more than that. Only its beginning
// counts: the rest is what the command printed.
func goesOn(result string) bool { return stillRuns().MatchString(clip(result, 400)) }

// endedBySignal are the words of results which say that a signal ended the command, as a
// shell numbers that: 128 and the signal.
var endedBySignal = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?im)^\W{0,3}(process )?exit(ed with)?( exit)? code:? (129|1[345]\d)\W*$`)
})

// killed reports whether a result says that the command did not end by itself. The line
// that says so stands first or last.
func killed(result string) bool {
	return endedBySignal().MatchString(clip(result, 400)) || endedBySignal().MatchString(result[max(0, len(result)-400):])
}
