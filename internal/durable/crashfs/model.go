package crashfs

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"slices"
)

// Model says what a power cut may do to what was not synced.
type Model uint8

// The models. Weak is what POSIX lets happen: every change of a folder that was
// not synced may be there or not, independently. Ordered is what ext4 does:
// changes of folders reach the disk in order, and any fsync takes all earlier
// ones along; contents are as free as in Weak.
const (
	Weak Model = iota + 1
	Ordered
)

// String names the model.
func (m Model) String() string {
	return [...]string{"", "weak", "ordered"}[m]
}

// image is what is on the disk.
type image struct {
	nodes map[uint64]*node
	next  uint64
}

func (d *FS) snapshot() *image {
	return (&image{nodes: d.nodes, next: d.next}).clone()
}

func (im *image) clone() *image {
	c := &image{nodes: make(map[uint64]*node, len(im.nodes)), next: im.next}
	for ino, n := range im.nodes {
		c.nodes[ino] = n.clone()
	}
	return c
}

// boot starts from an image.
func (im *image) boot(next uint64) *FS {
	d := &FS{nodes: map[uint64]*node{}, next: max(next, im.next)}
	for ino, n := range im.nodes {
		d.nodes[ino] = n.clone()
	}
	d.Settle()
	return d
}

var seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

// key tells images apart by what can be read in them.
func (im *image) key() [2]uint64 {
	var buf []byte
	var walk func(ino uint64)
	walk = func(ino uint64) {
		n := im.nodes[ino]
		if n == nil {
			buf = append(buf, 'x')
			return
		}
		buf = binary.AppendUvarint(buf, uint64(n.mode))
		buf = binary.AppendUvarint(buf, uint64(len(n.data)))
		buf = append(append(buf, n.data...), n.target...)
		names := make([]string, 0, len(n.entries))
		for name := range n.entries {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			buf = append(append(buf, name...), 0)
			walk(n.entries[name])
		}
		buf = append(buf, ')')
	}
	walk(rootIno)
	return [2]uint64{maphash.Bytes(seeds[0], buf), maphash.Bytes(seeds[1], buf)}
}

// get gives a node for changing; one that is not there yet is born empty.
func (im *image) get(ino uint64) *node {
	n := im.nodes[ino]
	if n == nil {
		n = &node{links: 1}
		im.nodes[ino] = n
	}
	return n
}

// apply makes an operation's change to folders.
func (im *image) apply(o op) {
	switch o.kind {
	case opCreate:
		im.link(o.dir, o.name, o.ino)
	case opRemove:
		if dir := im.nodes[o.dir]; dir != nil && dir.entries[o.name] == o.ino {
			delete(dir.entries, o.name)
		}
	case opRename:
		if dir := im.nodes[o.dir]; dir != nil && dir.entries[o.name] == o.ino {
			delete(dir.entries, o.name)
		}
		im.link(o.dir2, o.to, o.ino)
	}
}

func (im *image) link(dir uint64, name string, ino uint64) {
	im.get(dir).entries[name] = ino
}

func isDirOp(k opKind) bool  { return k == opCreate || k == opRemove || k == opRename }
func isDataOp(k opKind) bool { return k == opWrite || k == opTruncate || k == opMode }

// cursor goes along a trace and knows what is durable and what is pending.
type cursor struct {
	model   Model
	durable *image
	dirs    []op            // pending changes of folders
	data    map[uint64][]op // pending changes of contents
	dropped map[uint64][]op // changes of contents that a failed fsync lost
}

func newCursor(base *image, m Model) *cursor {
	return &cursor{model: m, durable: base.clone(), data: map[uint64][]op{}, dropped: map[uint64][]op{}}
}

func (c *cursor) step(o op) {
	switch {
	case isDirOp(o.kind):
		if o.kind == opCreate {
			// The file itself; without an entry no one can reach it.
			c.durable.nodes[o.ino] = o.born.clone()
			c.durable.nodes[o.ino].links = 1
		}
		c.dirs = append(c.dirs, o)
	case isDataOp(o.kind):
		c.data[o.ino] = append(c.data[o.ino], o)
	case o.kind == opSync && o.failed:
		c.dropped[o.ino] = append(c.dropped[o.ino], c.data[o.ino]...)
		delete(c.data, o.ino)
	case o.kind == opSync:
		c.settleData(o.ino)
		if c.model == Ordered {
			c.settleDirs(func(op) bool { return true })
		}
	case o.kind == opSyncDir:
		c.settleDirs(func(p op) bool {
			return c.model == Ordered || p.dir == o.ino || (p.kind == opRename && p.dir2 == o.ino)
		})
	case o.kind == opFlush:
		for ino := range c.data {
			c.settleData(ino)
		}
		c.settleDirs(func(op) bool { return true })
	}
}

func (c *cursor) settleData(ino uint64) {
	if len(c.data[ino]) == 0 {
		return
	}
	n := c.durable.get(ino)
	for _, o := range c.data[ino] {
		n.data = applyData(n.data, o)
		if o.kind == opMode {
			n.mode = o.mode
		}
	}
	delete(c.data, ino)
}

func (c *cursor) settleDirs(which func(op) bool) {
	var left []op
	for _, o := range c.dirs {
		if which(o) {
			c.durable.apply(o)
		} else {
			left = append(left, o)
		}
	}
	c.dirs = left
}

func applyData(data []byte, o op) []byte {
	switch o.kind {
	case opTruncate:
		return nil
	case opMode:
		return data // a mode that was not synced is the old one
	}
	return overwrite(data, o.off, o.data)
}

// images calls fn with every legal state of the disk at this point. It gives
// the number of states that were left out because there were more than limit.
func (c *cursor) images(limit int, fine bool, fn func(*image)) (capped int) {
	var inos []uint64
	for ino := range c.data {
		inos = append(inos, ino)
	}
	for ino := range c.dropped {
		if c.data[ino] == nil {
			inos = append(inos, ino)
		}
	}
	slices.Sort(inos)
	choices := make([][][]byte, len(inos))
	total := 1
	for i, ino := range inos {
		choices[i] = c.contents(ino, fine)
		total = saturate(total, len(choices[i]))
	}
	folders := c.folderChoices()
	total = saturate(total, len(folders))
	pick := make([]int, len(inos))
	count := 0
	for _, mask := range folders {
		clear(pick)
		for {
			if count++; count > limit {
				return total - limit
			}
			fn(c.build(mask, inos, choices, pick))
			if !advance(pick, choices) {
				break
			}
		}
	}
	return 0
}

func saturate(a, b int) int {
	if a > 1<<40/max(b, 1) {
		return 1 << 40
	}
	return a * b
}

func advance(pick []int, choices [][][]byte) bool {
	for i := range pick {
		if pick[i]++; pick[i] < len(choices[i]) {
			return true
		}
		pick[i] = 0
	}
	return false
}

// folderChoices lists which pending changes of folders are there: all subsets,
// or all prefixes.
func (c *cursor) folderChoices() [][]bool {
	n := len(c.dirs)
	var out [][]bool
	if c.model == Ordered || n > 16 {
		for k := 0; k <= n; k++ {
			mask := make([]bool, n)
			for i := range k {
				mask[i] = true
			}
			out = append(out, mask)
		}
		return out
	}
	for bits := range 1 << n {
		mask := make([]bool, n)
		for i := range n {
			mask[i] = bits&(1<<i) != 0
		}
		out = append(out, mask)
	}
	return out
}

func (c *cursor) build(mask []bool, inos []uint64, choices [][][]byte, pick []int) *image {
	im := c.durable.clone()
	for i, ino := range inos {
		im.get(ino).data = choices[i][pick[i]]
	}
	for i, there := range mask {
		if there {
			im.apply(c.dirs[i])
		}
	}
	return im
}

const sector = 512

// contents lists what a file may hold after a cut.
func (c *cursor) contents(ino uint64, fine bool) [][]byte {
	var now []byte
	if n := c.durable.nodes[ino]; n != nil {
		now = n.data
	}
	bases := [][]byte{now}
	for _, o := range c.dropped[ino] {
		// Gone, or the file has its length and zeros in it.
		if o.kind == opWrite && o.off+int64(len(o.data)) > int64(len(now)) {
			bases = append(bases, overwrite(now, o.off, make([]byte, len(o.data))))
		}
	}
	var out [][]byte
	add := func(b []byte) {
		for _, have := range out {
			if bytes.Equal(have, b) {
				return
			}
		}
		out = append(out, b)
	}
	for _, base := range bases {
		pending := c.data[ino]
		if overwrites(base, pending) {
			sectors(base, pending, add)
		} else {
			extensions(base, pending, fine, add)
		}
	}
	return out
}

func overwrites(base []byte, pending []op) bool {
	for _, o := range pending {
		if o.kind == opMode {
			continue
		}
		if o.kind != opWrite || o.off+int64(len(o.data)) > int64(len(base)) {
			return false
		}
	}
	return len(pending) > 0
}

// sectors lists what overwriting may leave: of every sector any version it has
// had since it was last synced, and half of its last change.
func sectors(base []byte, pending []op, add func([]byte)) {
	touched := map[int64][][]byte{}
	var order []int64
	state := base
	for _, o := range pending {
		if o.kind == opMode {
			continue
		}
		next := overwrite(state, o.off, o.data)
		for at := o.off / sector * sector; at < o.off+int64(len(o.data)); at += sector {
			end := min(at+sector, int64(len(base)))
			if touched[at] == nil {
				order = append(order, at)
				touched[at] = [][]byte{base[at:end]}
			}
			half := slices.Clone(touched[at][len(touched[at])-1])
			copy(half, next[at:at+int64(len(half))/3])
			touched[at] = append(touched[at], half, next[at:end])
		}
		state = next
	}
	slices.Sort(order)
	pick := make([]int, len(order))
	choices := make([][][]byte, len(order))
	for i, at := range order {
		choices[i] = touched[at]
	}
	for {
		b := slices.Clone(base)
		for i, at := range order {
			copy(b[at:], choices[i][pick[i]])
		}
		add(b)
		if !advance(pick, choices) {
			return
		}
	}
}

// extensions lists what growing may leave: whole writes up to one, that one
// torn or zero-filled; or one left out and the later ones there.
func extensions(base []byte, pending []op, fine bool, add func([]byte)) {
	add(base)
	state := base
	for i, o := range pending {
		if o.kind == opWrite {
			for _, torn := range tears(o.data, fine) {
				add(overwrite(state, o.off, torn))
			}
		}
		skip := state
		for _, later := range pending[i+1:] {
			skip = applyData(skip, later)
			add(skip)
		}
		state = applyData(state, o)
		add(state)
	}
}

// tears lists what may be left of one write.
func tears(data []byte, fine bool) (out [][]byte) {
	n := len(data)
	cuts := map[int]bool{}
	if fine && n <= 256 {
		for i := 1; i < n; i++ {
			cuts[i] = true
		}
	} else {
		for _, i := range []int{1, n / 4, n / 2, 3 * n / 4, n - 1, n / 2 / sector * sector} {
			if i > 0 && i < n {
				cuts[i] = true
			}
		}
	}
	for i := range cuts {
		out = append(out, data[:i])
		zeros := slices.Clone(data)
		clear(zeros[i:])
		out = append(out, zeros)
	}
	for _, i := range []int{n / 3, n / 2, n} {
		if i > 0 {
			zeros := slices.Clone(data)
			clear(zeros[:i])
			out = append(out, zeros)
		}
	}
	return out
}
