package web

import "time"

// Nonce is what the page of a run holds for an action.
func Nonce(s *Server, action, dir, run string) string {
	return s.nonce(action, target{Dir: dir, Run: run})
}

// Hurry makes a server wait only this long for a request.
func Hurry(s *Server, patience time.Duration) { s.patience = patience }
