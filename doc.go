// Package reprise is the domain: what a run of an agent workflow is, what its
// files say about it, and what may be started next.
//
// Nothing here touches the disk, a clock, a process or a network; the package
// imports the standard library only. Readers of on-disk conventions live under
// layout, what the world says beside the files under evidence, checks under
// examine. Everything that reads and decides is pure: the same input gives the
// same answer.
//
// Two rules hold for every type here. The zero value of an enumeration is
// "unset" and never a judgement; and what a file says that we do not
// understand is Unknown, never done and never nothing.
package reprise
