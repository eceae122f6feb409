package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"reprise"
	"reprise/internal/doc"
)

// Said are the flags that give an answer.
type Said struct {
	Question, Text, File string
	Option               int
	List                 bool // only list the open questions
}

// Add adds the flags to a command.
func (s *Said) Add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.Question, "question", "", "the id of the question (default: the only one)")
	f.StringVar(&s.Text, "text", "", "the answer")
	f.StringVar(&s.File, "file", "", "a file with the answer, or with a JSON object of several; - for standard input")
	f.IntVar(&s.Option, "option", 0, "the number of one of the offered answers")
	f.BoolVar(&s.List, "list", false, "list the questions and answer none")
	cmd.MarkFlagsMutuallyExclusive("text", "file", "option", "list")
}

// Check rejects flags that give no usable answer.
func (s *Said) Check(cmd *cobra.Command) error {
	for _, name := range []string{"text", "file", "question"} {
		if flag := cmd.Flags().Lookup(name); flag.Changed && strings.TrimSpace(flag.Value.String()) == "" {
			return misuse("--%s is empty", name)
		}
	}
	if strings.TrimSpace(s.Text) == unsaid {
		return misuse("--text is %s; put your answer in its place", unsaid)
	}
	if cmd.Flags().Changed("option") && s.Option < 1 {
		return misuse("--option is %d; the first answer is 1", s.Option)
	}
	return nil
}

// said reports whether the flags give an answer.
func (s *Said) said() bool { return s.Text != "" || s.File != "" || s.Option != 0 }

// Answers returns the answers to open questions, by id, in the form in which they are
// stored; nil if none is given.
func (s *Said) Answers(open []reprise.Question, in io.Reader) (map[string]string, error) {
	if !s.said() || s.List {
		return nil, nil
	}
	text := s.Text
	if s.File != "" {
		data, err := readAnswer(s.File, in)
		if err != nil {
			return nil, err
		}
		if s.Question == "" && bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
			answers, err := answerObject(s.File, data)
			if err != nil {
				return nil, misuse("read %s: %w", s.File, err)
			}
			return checked(open, answers)
		}
		text = strings.TrimRight(string(data), "\n")
	}
	q, err := questionOf(open, s.Question)
	if err != nil {
		return nil, err
	}
	if s.Option != 0 {
		if s.Option < 1 || s.Option > len(q.Options) {
			return nil, misuse("--option is %d; %s offers %s", s.Option, q.ID, count(len(q.Options), "answer"))
		}
		text = q.Options[s.Option-1]
	}
	return checked(open, map[string]string{q.ID: text})
}

// questionOf returns the question with the id or, without one, the only question.
func questionOf(open []reprise.Question, id string) (reprise.Question, error) {
	var ids []string
	for _, q := range open {
		if q.ID == id || id == "" && len(open) == 1 {
			return q, nil
		}
		ids = append(ids, q.ID)
	}
	if id == "" {
		return reprise.Question{}, misuse("%d questions are open; name one with --question: %s", len(open), strings.Join(ids, ", "))
	}
	return reprise.Question{}, misuse("no open question is called %q; there are %s", id, strings.Join(ids, ", "))
}

// maxAnswers limits the size of a file of answers.
const maxAnswers = 1 << 20

// answerObject reads a JSON object of texts. A question that occurs twice is an error,
// because it is unclear which answer is meant.
func answerObject(name string, data []byte) (map[string]string, error) {
	read, file := doc.Memory(name, data)
	answers := map[string]string{}
	for _, f := range file.JSON().Fields() {
		if _, doubled := answers[f.Name]; doubled {
			return nil, fmt.Errorf("%q is answered twice", f.Name)
		}
		if f.Value.Kind != doc.String {
			return nil, fmt.Errorf("the answer to %q is not text; put it in quotation marks", f.Name)
		}
		answers[f.Name] = f.Value.Text
	}
	for _, f := range read.Findings() {
		return nil, fmt.Errorf("line %d: %s", f.Source.Line, f.Message)
	}
	return answers, nil
}

func readAnswer(name string, in io.Reader) ([]byte, error) {
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in = file
	}
	data, err := io.ReadAll(io.LimitReader(in, maxAnswers))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return data, nil
}

// checked returns answers in the form in which they are stored. It rejects answers that
// cannot be stored in a state file or that their question does not accept.
func checked(open []reprise.Question, answers map[string]string) (map[string]string, error) {
	out := map[string]string{}
	for id, text := range answers {
		q, err := questionOf(open, id)
		if err != nil {
			return nil, err
		}
		if err := reprise.CheckText(text); err != nil {
			return nil, misuse("answer %s: the answer %w", id, err)
		}
		if out[id], err = q.Choose(text); err != nil {
			return nil, misuse("%w", err)
		}
	}
	return out, nil
}
