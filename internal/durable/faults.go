package durable

// The faults that a test can plant. Each makes the store wrong in one way that
// somebody once shipped; the table test names the harness that finds it.
const (
	faultNoLogSync      fault = "no fsync of the log"
	faultNoTempSync     fault = "no fsync of the temporary file"
	faultNoDirSync      fault = "no fsync of the folder"
	faultInPlace        fault = "written in place"
	faultKeepTorn       fault = "no torn-tail repair"
	faultNoIntent       fault = "no intent"
	faultIgnoreErrors   fault = "errors ignored"
	faultTrustCache     fault = "recovery trusts the cache"
	faultNoRewrite      fault = "recovery syncs again instead of rewriting"
	faultNoChecksum     fault = "no checksum"
	faultPidLease       fault = "lease by pid only"
	faultNoBase         fault = "edit without base hash"
	faultAckFirst       fault = "success before effect"
	faultNoLeaseSync    fault = "generation not durable"
	faultNoAnchor       fault = "anchor not compared"
	faultIntentFirst    fault = "intent cleared before the effect"
	faultNoBroken       fault = "torn tail dropped without a copy"
	faultAppendAgain    fault = "roll forward appends again"
	faultStaleCounts    fault = "older generation counts"
	faultFollowLinks    fault = "links are followed"
	faultObjectLate     fault = "record before its payload"
	faultPartialAppend  fault = "records over the limit are written in parts"
	faultCutBehind      fault = "damage before the tail is cut off"
	faultForgetConflict fault = "conflict overwritten"
)
