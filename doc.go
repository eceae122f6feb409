// Package reprise is the domain: what a run of an agent workflow is, what its files say
// about it, and what may be started next.
//
// Nothing here touches the disk, a clock, a process or a network, and only the standard
// library is imported. Readers of on-disk conventions live under convention, observations
// of the world under evidence, checks under examine. Everything that reads and decides is
// pure: the same input gives the same answer.
//
// Two rules hold for every type. The zero value of an enumeration is "unset" and never a
// judgement. Anything in a file that is not understood is Unknown: never done, and never
// nothing.
package reprise
