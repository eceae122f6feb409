package durable

import (
	"os"
	"path/filepath"
	"strings"
)

// WithFault plants a fault by name.
func WithFault(o Options, name string) Options {
	o.fault = fault(name)
	return o
}

// SealForTest frames a line of any version.
func SealForTest(version, text string) []byte { return append(seal(version, text), '\n') }

// Faults lists the faults that can be planted.
func Faults() []string {
	var out []string
	for _, f := range []fault{
		faultNoLogSync, faultNoTempSync, faultNoDirSync, faultInPlace, faultKeepTorn, faultNoIntent, faultIgnoreErrors, faultTrustCache,
		faultNoRewrite, faultNoChecksum, faultPidLease, faultNoBase, faultAckFirst, faultNoLeaseSync, faultNoAnchor, faultIntentFirst,
		faultNoBroken, faultAppendAgain, faultStaleCounts, faultFollowLinks, faultObjectLate, faultPartialAppend, faultCutBehind, faultForgetConflict,
	} {
		out = append(out, string(f))
	}
	return out
}

// ForgeLog writes a long log without an fsync per record.
func ForgeLog(dir, name string, records, size int) error {
	var prev chainHash
	seg, buf := 1, []byte(nil)
	flush := func() error {
		file := filepath.Join(dir, filepath.Base(segmentPath(name, seg)))
		seg++
		b := buf
		buf = nil
		return os.WriteFile(file, b, 0o600)
	}
	body := []byte(`"` + strings.Repeat("x", size) + `"`)
	for i := 1; i <= records; i++ {
		line := frame{seq: uint64(i), gen: 1, prev: prev, kind: "step", payload: body}.encode()
		prev = hashLine(line)
		buf = append(append(buf, line...), '\n')
		if len(buf) > defaultBlock-MaxRecord {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}
