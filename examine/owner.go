package examine

import (
	"fmt"
	"slices"
	"strings"

	"reprise"
)

// lifeOf returns what is known of a run's recorded owner; ok is false if there is none or
// it was not looked up.
func lifeOf(r *reprise.Run, o *World) (reprise.OwnerLife, bool) {
	if r.Owner == nil {
		return reprise.OwnerLife{}, false
	}
	life, ok := o.Owners[r.Owner.Source]
	return life, ok && life.Life != 0
}

// ownerFinding builds a finding about the recorded owner; message has a verb for its
// name.
func ownerFinding(r *reprise.Run, message, reason, hint string) []reprise.Finding {
	message = fmt.Sprintf(message, holder(r.Owner))
	if reason != "" {
		message += ": " + reason
	}
	return []reprise.Finding{{Message: message, Source: r.Owner.Source, Hint: hint}}
}

// holder describes an owner by everything recorded about it.
func holder(o *reprise.Owner) string {
	var out []string
	if o.Agent != "" {
		out = append(out, quote(o.Agent))
	}
	if o.PID > 0 {
		out = append(out, fmt.Sprintf("process %d", o.PID))
	}
	if o.Host != "" {
		out = append(out, "on "+quote(o.Host))
	}
	if len(out) == 0 {
		return "an owner without a name"
	}
	return strings.Join(out, " ")
}

func liveOwner(r *reprise.Run, o *World) []reprise.Finding {
	life, ok := lifeOf(r, o)
	if !ok || life.Life != reprise.Alive {
		return nil
	}
	if r.Owner.Orphan {
		left := ownerFinding(r, "%s is left over from an earlier attempt and still running", life.Reason,
			"wait until it ends; `reprise resume --stop-orphans` stops it")
		left[0].Severity = reprise.Warning
		return left
	}
	what := "%s is working on it"
	if r.Owner.Dir != "" {
		what += " in " + strings.ReplaceAll(name(r.Owner.Dir), "%", "%%")
	}
	return ownerFinding(r, what, life.Reason, "wait until it ends, or stop it yourself first")
}

// staleOwner reports that the recorded owner is gone, and how that is known.
func staleOwner(r *reprise.Run, o *World) []reprise.Finding {
	life, ok := lifeOf(r, o)
	if !ok || life.Life != reprise.Dead {
		return nil
	}
	return ownerFinding(r, "the marker of %s is left over", life.Reason, "nothing holds the run; the marker can be removed")
}

func ownerUnknown(r *reprise.Run, o *World) []reprise.Finding {
	life, ok := lifeOf(r, o)
	if !ok || life.Life != reprise.LifeUnknown {
		return nil
	}
	// If the run's own files contradict the marker, the reader has said so and knows more
	// than a silent process table.
	if slices.ContainsFunc(r.Findings, func(f reprise.Finding) bool {
		return f.Code == reprise.CodeStaleMarker && f.Source == r.Owner.Source
	}) {
		return nil
	}
	return ownerFinding(r, "%s is recorded as working on it; whether that is still true is unknown", life.Reason,
		"make sure that it is no longer running before you continue")
}
