package longrun

import (
	"fmt"
	"path"
	"strings"
	"time"

	"reprise/internal/doc"
	"reprise/internal/splice"
)

func lastAgent(list []*agentEntry) *agentEntry {
	if len(list) == 0 {
		return nil
	}
	return list[len(list)-1]
}

// history opens agent-history.json of either family with the key of its list.
func (b *book) history(dir, why string) (j *splice.JSON, key string, err error) {
	name := path.Join(dir, "agent-history.json")
	j, err = b.openJSON(name, why)
	if err != nil || j == nil {
		return nil, "", err
	}
	root := j.Root()
	if root.Kind != doc.Map {
		return nil, "", fmt.Errorf("%s: not a map: %w", name, splice.ErrUnreadable)
	}
	key = "entries"
	if !root.Has("entries") && root.Has("agents") {
		key = "agents"
	}
	if list := root.Get(key); list != nil && list.Kind != doc.List {
		return nil, "", fmt.Errorf("%s: %s is no list: %w", name, key, splice.ErrUnreadable)
	}
	return j, key, nil
}

// setAgent changes the status of one entry and, where the agent came to its
// end, the time of that.
func (b *book) setAgent(dir string, e *agentEntry, word string, ended time.Time) error {
	j, key, err := b.history(dir, fmt.Sprintf("agent %s is %s", doc.Clip(e.id, 60), word))
	if err != nil {
		return err
	}
	if j == nil {
		return fmt.Errorf("%s: gone: %w", e.source.File, splice.ErrUnreadable)
	}
	at := splice.Path{key, e.index}
	if err := j.Set(append(at, "status"), word); err != nil {
		return inFile(e.source.File, err)
	}
	if ended.IsZero() {
		if j.Root().Get(key).Items[e.index].Has("completion_timestamp") && word == "resumed" {
			return inFile(e.source.File, j.Set(append(splice.Path{key, e.index}, "completion_timestamp"), nil))
		}
		return nil
	}
	return inFile(e.source.File, j.Put(append(splice.Path{key, e.index}, "completion_timestamp"), timeLike(e.stamp, ended)))
}

// addAgent appends the entry of a new agent, with the keys that the last entry
// of the file has, in their order.
func (b *book) addAgent(dir string, fields splice.Object, why string) error {
	j, key, err := b.history(dir, why)
	if err != nil || j == nil {
		return err
	}
	name := path.Join(dir, "agent-history.json")
	list := j.Root().Get(key)
	if list == nil {
		return inFile(name, j.Put(splice.Path{key}, []any{fields}))
	}
	ordered := fields
	if n := len(list.Items); n > 0 && list.Items[n-1].Kind == doc.Map {
		ordered = asIn(list.Items[n-1], fields)
	}
	return inFile(name, j.Append(splice.Path{key}, ordered))
}

// mark writes the id of the agent at work into current-agent-id.txt.
func (b *book) mark(dir, id string) error {
	name := path.Join(dir, "current-agent-id.txt")
	base, exists, err := b.read(name)
	if err != nil {
		return err
	}
	why := "agent " + doc.Clip(id, 60) + " is at work"
	if !exists {
		b.create(name, id+"\n", why)
		return nil
	}
	end := "\n"
	if strings.HasSuffix(string(base), "\r\n") {
		end = "\r\n"
	}
	if firstLine(base) != id {
		b.replace(name, base, id+end, why)
	}
	return nil
}
