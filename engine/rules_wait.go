package engine

// leaveHeld leaves the run while work that is whole cannot be committed: nothing is
// started before it can be.
func leaveHeld(v *View) []Op {
	if len(v.Held) == 0 || len(v.AtWork) > 0 {
		return nil
	}
	return []Op{{Leave: true}}
}

// awaitWork waits for something to end.
func awaitWork(v *View) []Op {
	if len(v.AtWork) == 0 {
		return nil
	}
	return []Op{{Await: true, Until: v.wake()}}
}

// leaveOnPurpose leaves the run where a person said to stop, now or after a step.
func leaveOnPurpose(v *View) []Op {
	if !v.Stopping && !v.Reached {
		return nil
	}
	return []Op{{Leave: true, Until: v.wake()}}
}

// sleepUntil waits for a time: a back-off always, a limit only where a person said so.
func sleepUntil(v *View) []Op {
	wake := v.wake()
	if wake.IsZero() || !v.Patient && wake.Sub(v.Now) > maxBackoff {
		return nil
	}
	return []Op{{Until: wake}}
}

// leaveAtLast leaves the run: nothing more can be done here.
func leaveAtLast(v *View) []Op { return []Op{{Leave: true, Until: v.wake()}} }
