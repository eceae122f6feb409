package engine

// leaveHeld leaves the run while finished work cannot be committed: nothing is started
// before it is.
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

// leaveOnPurpose leaves the run where the user said to stop, now or after a step.
func leaveOnPurpose(v *View) []Op {
	if !v.Stopping && !v.Reached {
		return nil
	}
	return []Op{{Leave: true, Until: v.wake()}}
}

// sleepUntil waits for a time: always for a back-off, for a limit only if the user said so.
func sleepUntil(v *View) []Op {
	wake := v.wake()
	if wake.IsZero() || !v.Patient && IsLimit(wake, v.Now) {
		return nil
	}
	return []Op{{Until: wake}}
}

// leaveAtLast leaves the run: nothing more can be done here.
func leaveAtLast(v *View) []Op { return []Op{{Leave: true, Until: v.wake()}} }
