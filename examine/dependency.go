package examine

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"reprise"
)

// manifests are the files in which projects declare dependencies. Lock files are
// excluded: they change without a decision by anyone.
var manifests = []string{
	"go.mod", "package.json", "cargo.toml", "pyproject.toml", "setup.py", "setup.cfg", "pipfile", "environment.yml", "pom.xml",
	"build.gradle", "build.gradle.kts", "gemfile", "composer.json", "mix.exs", "pubspec.yaml", "package.swift", "deno.json",
	"directory.packages.props", "conanfile.txt", "vcpkg.json",
}

func manifest(p string) bool {
	if slices.ContainsFunc(strings.Split(p, "/"), func(part string) bool { return part == "node_modules" || part == "vendor" || part == ".." }) {
		return false
	}
	base := strings.ToLower(path.Base(p))
	return slices.Contains(manifests, base) || strings.HasSuffix(base, ".csproj") || strings.HasSuffix(base, ".gemspec") ||
		(strings.HasPrefix(base, "requirements") && strings.HasSuffix(base, ".txt"))
}

// newDependency reports dependencies that the saved state does not account for.
func newDependency(r *reprise.Run, o *World) []reprise.Finding {
	out := sectionFindings(r, o, stakes{DependencyPart: reprise.Warning}, "check whether what it now depends on is done")
	return slices.Concat(out, changedManifests(r, o), unlistedNeeds(r, o))
}

// changedManifests looks for manifests in other people's commits and among uncommitted
// changes, except those the run itself is to touch.
func changedManifests(r *reprise.Run, o *World) []reprise.Finding {
	if o.Git == nil || !isBegun(r) {
		return nil
	}
	var order []string
	where := map[string]string{}
	note := func(p string, place func() string) {
		if manifest(p) && where[p] == "" {
			order = append(order, p)
			where[p] = place()
		}
	}
	for _, c := range foreign(r, o.Git) {
		for _, f := range c.Files {
			note(f.Path, func() string { return "by commit " + short(c.Hash) + " (" + quote(c.Subject) + ")" })
		}
	}
	files := filesOf(r)
	c, _ := checkoutOf(r, o.Git)
	for _, ch := range o.Git.Changed {
		if c.name == "" && inCheckout(ch, c) && files[ch.Path] == 0 {
			note(ch.Path, func() string { return "without a commit" })
		}
	}
	var out []reprise.Finding
	for _, p := range order {
		out = append(out, reprise.Finding{
			Subject: p, Source: reprise.Source{File: p},
			Message: fmt.Sprintf("%s, which declares dependencies, has changed since the run was last active, %s", name(p), where[p]),
			Hint:    "install what it declares now, and check whether the run's plan still fits",
		})
	}
	return out
}

// unlistedNeeds reports steps that wait for a unit that exists as a run of its own but is
// not in the saved state.
func unlistedNeeds(r *reprise.Run, o *World) []reprise.Finding {
	if !r.State.Open() {
		return nil
	}
	var out []reprise.Finding
	for i := range r.Steps {
		s := &r.Steps[i]
		if s.Status.Closed() {
			continue
		}
		for _, need := range s.Needs {
			peer := peerCalled(r, o, need)
			if peer == nil || r.Step(need) != nil {
				continue
			}
			out = append(out, reprise.Finding{
				Subject: s.ID, Source: s.Source,
				Message: fmt.Sprintf("%s waits for %s, which exists (%s) but is not in the saved state", name(s.ID), name(need), name(peer.Path)),
				Hint:    "add it to the saved state, or remove the dependency",
			})
		}
	}
	return out
}

// peerCalled returns the other run of the same layout with this id, or nil.
func peerCalled(r *reprise.Run, o *World, id string) *reprise.Run {
	i := slices.IndexFunc(o.Peers, func(p *reprise.Run) bool {
		return p != nil && id != "" && p.ID == id && p.Layout == r.Layout && !same(r, p)
	})
	if i < 0 {
		return nil
	}
	return o.Peers[i]
}
