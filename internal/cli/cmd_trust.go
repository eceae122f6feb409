package cli

import (
	"context"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"reprise/engine"
	"reprise/report"
	"reprise/settings"
)

// trustFlags say what to do about trust.
type trustFlags struct {
	workFlags
	revoke, list bool
}

func (a *app) newTrust() *cobra.Command {
	var flags trustFlags
	cmd := &cobra.Command{
		Use:   "trust [FILE…]",
		Short: "Trust the commands in reprise.yaml or a workflow file, as they are now",
		Long: "Show what a file would start and, if you say yes, trust it: this content at this\n" +
			"place. Without FILE: the project's reprise.yaml. You are asked again when it\n" +
			"changes; scripts that its commands name are not covered. --revoke withdraws all\n" +
			"trust in a file, whatever its content, even if the file is gone.",
		Example: "  reprise trust\n  reprise trust flow.yaml\n  reprise trust --revoke\n  reprise trust --list",
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return a.setsUp(a.trust(cmd.Context(), flags, args)) }
	a.setupJSON(cmd)
	cmd.Flags().StringVarP(&flags.dir, "dir", "C", ".", "the project folder")
	cmd.Flags().BoolVarP(&flags.dry, "dry-run", "n", false, "show what would be trusted and keep nothing")
	cmd.Flags().BoolVarP(&flags.yes, "yes", "y", false, "trust it without asking")
	cmd.Flags().BoolVar(&flags.revoke, "revoke", false, "no longer trust the file")
	cmd.Flags().BoolVar(&flags.list, "list", false, "list everything that is trusted on this machine")
	cmd.MarkFlagsMutuallyExclusive("revoke", "list")
	return cmd
}

func (a *app) trust(ctx context.Context, flags trustFlags, files []string) error {
	if flags.list && len(files) > 0 {
		return misuse("--list lists everything; it takes no files")
	}
	if len(files) == 0 {
		files = []string{settings.FileName}
	}
	flags.trust, flags.consent = flags.yes, "--yes"
	return a.work(ctx, flags.workFlags, func(s *job) error {
		trust, err := s.trusts()
		if err != nil {
			return err
		}
		if flags.list {
			s.listTrust(trust)
			return nil
		}
		for _, file := range files {
			name := s.inside(file)
			if !local(name) {
				return misuse("trust %s: the file must be in the project", file)
			}
			does := s.trustFile
			if flags.revoke {
				does = s.revoke
			}
			if err := does(trust, name); err != nil {
				return err
			}
		}
		return nil
	})
}

// trustFile asks for trust in a file of the project.
func (s *job) trustFile(trust *settings.Trust, name string) error {
	u, err := s.untrusted(trust, name)
	if err != nil {
		return err
	}
	p, file := s.telling(), report.SetupFile{Path: s.flowPath(name), Outcome: "trusted", Dry: s.flags.dry}
	if u == nil {
		file.Dry = false
		s.did(file)
		p.para("", name+": already trusted.", linesAll)
		return nil
	}
	file.Starts = report.Each(u.Starts, startWords)
	if s.flags.dry || s.flags.trust {
		p.trust(u)
	}
	if !s.flags.dry {
		if err := s.askTrust(u, false); err != nil {
			return err
		}
	}
	s.did(file)
	if s.flags.dry {
		return nil
	}
	p.para("", name+": trusted, as it is now.", linesAll)
	return nil
}

// untrusted returns what a file would start, nil if its current content is trusted.
func (s *job) untrusted(trust *settings.Trust, name string) (*settings.Untrusted, error) {
	if name == settings.FileName {
		if _, err := os.Stat(s.flowPath(name)); err != nil {
			return nil, err
		}
		_, u, err := settings.Load(settings.Options{User: settings.UserFile(s.env), Project: s.root, Trust: trust})
		return u, err
	}
	w, hash, err := s.readFlow(name)
	if err != nil {
		return nil, err
	}
	return s.untrustedFlow(name, w, hash)
}

// revoke revokes trust in a file.
func (s *job) revoke(trust *settings.Trust, name string) error {
	n := trust.Contents(s.flowPath(name))
	if n > 0 && !s.flags.dry {
		if err := trust.Revoke(s.flowPath(name)); err != nil {
			return err
		}
	}
	outcome, dry := "revoked", s.flags.dry
	if n == 0 {
		outcome, dry = "untrusted", false
	}
	s.did(report.SetupFile{Path: s.flowPath(name), Outcome: outcome, Dry: dry})
	text := "no longer trusted; " + count(n, "version") + " of it had been."
	switch {
	case n == 0:
		text = "it was not trusted."
	case s.flags.dry:
		text = "would no longer be trusted; " + count(n, "version") + " of it are."
	}
	s.telling().para("", name+": "+text, linesAll)
	return nil
}

// listTrust lists the trusted files and whether they have changed.
func (s *job) listTrust(trust *settings.Trust) {
	p := s.telling()
	list := trust.All()
	if len(list) == 0 {
		p.say("Nothing is trusted on this machine.")
	}
	for _, g := range list {
		now, outcome := "as it is now", "trusted"
		if _, err := os.Stat(g.Path); err != nil {
			now, outcome = "the file is not there", "gone"
		} else if !isTrusted(trust, g) {
			now, outcome = "another version: the file has changed", "other"
		}
		s.did(report.SetupFile{Path: g.Path, Outcome: outcome})
		p.place("", g.Path)
		p.line("  %s, %s", g.At.Format("2006-01-02"), now)
	}
}

// isTrusted reports whether the file still has the trusted content.
func isTrusted(trust *settings.Trust, g settings.Granted) bool {
	if filepath.Base(g.Path) == settings.FileName {
		_, u, err := settings.Load(settings.Options{Project: filepath.Dir(g.Path), Trust: trust.Only(g)})
		return err == nil && u == nil
	}
	_, hash, err := engine.ReadFlow(g.Path)
	return err == nil && hash == g.Hash
}
