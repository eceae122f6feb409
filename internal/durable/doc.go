// Package durable is the one door to the disk: the only package that changes
// files in a project. What it has acknowledged by returning nil survives a kill
// at any instruction, a power cut that loses, reorders or tears everything that
// was not synced, a full disk, and any number of other processes; what it has
// not acknowledged is there whole or not at all after the next Take.
//
// A Store is opened on a project and reads. Take makes it the holder of the
// project's lease, makes durable what a dead process may have left in the
// cache, and finishes what that one had begun. Then a Log appends
// records, Apply changes files, Snapshot and Undo bring a state back, Archive
// moves things away. After any failed write, fsync, close or rename the Store is
// poisoned: it writes nothing more, because a later success would hide the loss.
//
// All of it is made of the few operations of FS. The explorer in
// internal/durable/crashfs runs every protocol here from every state that a
// crash may leave.
//
// Not covered: a drive that lies about a flush; a change that another program
// makes to a file in the microseconds between our last look at it and the
// rename; extended attributes and access lists of a file that is replaced;
// empty folders in a snapshot.
//
// # FORMAT
//
// Everything lies in .reprise/ in the project, readable by its owner only.
// Every text is framed as "VERSION CRC TEXT": the CRC-32C, in eight hex digits,
// covers "VERSION " and TEXT.
//
// journal/NAME-000001.log and following are the files of a log, one record per
// line:
//
//	r1 CRC SEQ GEN PREV KIND PAYLOAD
//
// SEQ counts from 1 without a gap over all files. GEN is the generation of the
// lease. PREV is the first half of the SHA-256 of the line before, in hex, zero
// for the first. PAYLOAD is JSON on one line, or "@SHA256:SIZE" for one in
// objects/; a line has at most 64 KiB. Kinds that begin with "_" are the log's
// own: _log, _segment, _take, and _repair, which repeats the SEQ before it and
// whose payload says what is lost and with which SEQ and PREV the chain continues.
// A valid line whose GEN is lower than one before it was written by someone who
// had lost the lease: it is kept, reported, and no part of the chain. A line of
// a version that is not known stops everything.
//
// What stands behind the last valid line is a torn write if it is no longer than
// one record and has no line end, or holds unwritten blocks; it is copied to
// NAME.broken-N and cut. All else is damage, and so is a log that ends before
// the record its anchor names, a last file without a whole record, and an anchor
// without a log: a file gets its name when its first record is durable in it, and
// the first file is there before the anchor. A log whose anchor alone is gone is
// read as it is.
//
// journal/NAME.anchor and lock hold a small fact in two places of 512 bytes that
// are written in turn, "s1 CRC COUNTER JSON" and spaces: the last record that is
// durable, and who holds the lease. The anchor is written after each record
// without an fsync of its own, and synced when the log is opened, rotated and
// closed; it is never ahead of the log. It is also the mark up to which readers
// without the lease may trust a log. The lock is never renamed or removed.
//
// stamp ("t1", JSON) says to which folder and path the state belongs, and
// repeats the generation. intent ("i1", JSON) holds a group of edits from before
// the first change until after the last. conflicts/NNNN are intents of which an
// edit could not be carried out. objects/ab/cdef… are contents by their SHA-256.
// snapshots/NNNNNN.json ("p1") are snapshots; their trees are commits at
// refs/reprise/snap/NNNNNN-GEN with the files under files/ and what git's index
// named under index/STAGE/. archive/TIME-NAME/ holds what was moved away, undo
// the number of the snapshot to which an undo was begun, reserve the room for
// stopped, which says why the last process ended when the disk was full.
// work/NAME/ is the folder of one attempt and logs/NAME.log what it printed; no
// decision depends on either.
package durable
