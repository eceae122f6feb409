package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"reprise"
)

// maxReply is the largest result file that is read.
const maxReply = 1 << 20

// replyOutcomes are the words a reply may use; without one, how the process
// ended counts.
var replyOutcomes = []string{"", "done", "failed", "blocked", "question"}

// ReadReply reads the result file of an agent. It is nil without an error if
// there is none. The error tells what is wrong with the one that is there: it is
// no plain file, too large, not one JSON object, or has an outcome without a
// meaning.
func ReadReply(path string) (*reprise.Reply, error) {
	if path == "" {
		return nil, nil
	}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the result: %w", err)
	case !info.Mode().IsRegular():
		return nil, errors.New("read the result: it is no plain file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the result: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxReply+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the result: %w", err)
	case len(b) > maxReply:
		return nil, fmt.Errorf("read the result: it has more than %d bytes", maxReply)
	}
	// A pointer tells the word null, which says nothing, from an object.
	var reply *reprise.Reply
	if err := json.Unmarshal(b, &reply); err != nil {
		return nil, fmt.Errorf("read the result: %w", err)
	}
	if reply == nil {
		return nil, errors.New("read the result: it is no JSON object")
	}
	if !slices.Contains(replyOutcomes, reply.Outcome) {
		return nil, fmt.Errorf("read the result: outcome %.40q has no meaning, only done, failed, blocked and question have", reply.Outcome)
	}
	return reply, nil
}
