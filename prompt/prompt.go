// Package prompt makes what agents are told. Our own words are templates that a
// person can replace; text from state files enters only in data blocks: marked
// with a fence nobody could have written before, length-limited, without control
// characters, and declared to be data.
package prompt

import "reprise"

// Task is everything a prompt is made of.
type Task struct {
	reprise.Assignment
	Run     string
	Attempt int
	Dir     string // the working folder, as the agent sees it
	Result  string // where to leave the result file
	Trailer string // the whole trailer line for commits
	// Earlier says what is known of earlier attempts, our own words.
	Earlier []string
	// Answers are what a person said, question and answer: data.
	Answers []Answer
}

// Answer is a question and what a person said.
type Answer struct{ Question, Text string }
