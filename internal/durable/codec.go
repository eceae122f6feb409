package durable

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
	"sync"
)

// MaxRecord is the longest line of a log. A larger payload goes to a file of
// its own first: one write of this size is never torn by a plain kill on the
// file systems that were measured, and a torn one is told by its checksum.
const MaxRecord = 64 << 10

// castagnoli is made when it is first needed: commands that only look start
// without it.
var castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

// seal frames a text as "VERSION CRC TEXT": the checksum covers version and text.
func seal(version, text string) []byte {
	sum := crc32.Update(crc32.Checksum([]byte(version+" "), castagnoli()), castagnoli(), []byte(text))
	return fmt.Appendf(nil, "%s %08x %s", version, sum, text)
}

// unseal takes a framed text apart. ok is false if the checksum does not fit.
func unseal(line []byte) (version string, text []byte, ok bool) {
	v, rest, found := bytes.Cut(line, []byte(" "))
	if !found || len(v) == 0 || len(v) > 8 || len(rest) < 9 || rest[8] != ' ' {
		return "", nil, false
	}
	want, ok := checksum(rest[:8])
	if !ok {
		return "", nil, false
	}
	text = rest[9:]
	sum := crc32.Update(crc32.Checksum(line[:len(v)+1], castagnoli()), castagnoli(), text)
	version = recordVersion // without making it anew for every line of a log
	if string(v) != recordVersion {
		version = string(v)
	}
	return version, text, want == sum
}

// checksum reads eight hexadecimal digits; capitals are none.
func checksum(b []byte) (sum uint32, ok bool) {
	for _, c := range b {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		default:
			return 0, false
		}
		sum = sum<<4 | uint32(c)
	}
	return sum, true
}

// chainHash names a line in the one that follows it.
type chainHash [16]byte

func hashLine(line []byte) (h chainHash) {
	sum := sha256.Sum256(line)
	copy(h[:], sum[:])
	return h
}

func (h chainHash) String() string { return hex.EncodeToString(h[:]) }

func (h chainHash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

func (h *chainHash) UnmarshalText(b []byte) error {
	if len(b) != hex.EncodedLen(len(h)) {
		return fmt.Errorf("parse chain hash: %q is none", b)
	}
	if _, err := hex.Decode(h[:], b); err != nil {
		return fmt.Errorf("parse chain hash: %q is none", b)
	}
	return nil
}

const recordVersion = "r1"

// frame is one line of a log, taken apart.
type frame struct {
	seq, gen uint64
	prev     chainHash
	kind     string
	payload  []byte // JSON, or "@HASH:SIZE" for one in a file of its own
	hash     chainHash
}

// encode gives the line without its end.
func (f frame) encode() []byte {
	return seal(recordVersion, fmt.Sprintf("%d %d %s %s %s", f.seq, f.gen, f.prev, f.kind, f.payload))
}

// parseFrame reads a line without its end.
func parseFrame(line []byte) (frame, error) {
	version, text, ok := unseal(line)
	if !ok {
		return frame{}, fmt.Errorf("the checksum does not fit")
	}
	if version != recordVersion {
		if strings.HasPrefix(version, "r") {
			return frame{}, &FutureError{Version: version}
		}
		return frame{}, fmt.Errorf("not a record")
	}
	var parts [5][]byte
	for i := range parts[:4] {
		var found bool
		if parts[i], text, found = bytes.Cut(text, []byte(" ")); !found {
			return frame{}, fmt.Errorf("not a record")
		}
	}
	parts[4] = text
	var f frame
	var err error
	if f.seq, err = strconv.ParseUint(string(parts[0]), 10, 64); err != nil {
		return frame{}, fmt.Errorf("the sequence is no number")
	}
	if f.gen, err = strconv.ParseUint(string(parts[1]), 10, 64); err != nil {
		return frame{}, fmt.Errorf("the generation is no number")
	}
	if err := f.prev.UnmarshalText(parts[2]); err != nil {
		return frame{}, err
	}
	f.kind, f.payload, f.hash = string(parts[3]), parts[4], hashLine(line)
	if len(f.payload) == 0 || f.kind == "" {
		return frame{}, fmt.Errorf("the payload is missing")
	}
	return f, nil
}

// validKind reports whether a caller may use a kind: a word in lower case. The
// kinds of the log itself begin with "_".
func validKind(kind string) bool {
	if kind == "" || len(kind) > 64 || kind[0] < 'a' || kind[0] > 'z' {
		return false
	}
	return strings.Trim(kind, "abcdefghijklmnopqrstuvwxyz0123456789_.-") == ""
}

// validName reports whether a log may have this name; it becomes a file name.
func validName(name string) bool {
	return name != "" && len(name) <= 64 && name[0] != '.' && name[0] != '-' &&
		strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_.-") == ""
}

// installJSON replaces a file of the state by one line that frames a value; openJSON reads
// that line. path is for the error only.
func (s *Store) installJSON(name, version string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return s.install(name, append(seal(version, string(b)), '\n'), nil)
}

func openJSON(path, version string, b []byte, v any) error {
	found, text, ok := unseal(bytes.TrimSuffix(b, []byte("\n")))
	switch {
	case !ok || !bytes.HasSuffix(b, []byte("\n")):
		return &DamageError{Path: path, Cause: "the checksum does not fit"}
	case found != version && len(found) == len(version) && found[0] == version[0]:
		return &FutureError{Path: path, Version: found}
	case found != version:
		return &DamageError{Path: path, Cause: "not a file of this kind"}
	}
	if err := json.Unmarshal(text, v); err != nil {
		return &DamageError{Path: path, Cause: err.Error()}
	}
	return nil
}
