package durable

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
