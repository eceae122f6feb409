package worktree

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"reprise"
	"reprise/internal/gitx"
)

// Review tells in words what was built: the commits, the files and what is not
// committed. It changes nothing.
func Review(ctx context.Context, p Project) (string, error) {
	s, err := p.open()
	if err != nil {
		return "", err
	}
	head, ok, err := s.Repo.Resolve(ctx, s.branch)
	if err != nil {
		return "", err
	}
	if !ok && s.Run.Branch == "" && s.Run.Progress().Done > 0 {
		return "it was built here, without a branch of its own: `git log` and `git status` show what was done", nil
	}
	if !ok && s.Run.Progress().Done > 0 {
		return fmt.Sprintf("branch %s does not exist here, so its work cannot be shown: fetch it if it exists elsewhere; if it was merged, `reprise resume %s --option merged` records that; if it was given up, `reprise clean %[2]s` archives the run", s.branch, reprise.Pasted(s.Run.ID, "RUN")), nil
	}
	if !ok {
		return "nothing has been built yet: there is no branch " + s.branch, nil
	}
	commits, files, err := s.built(ctx, head)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "branch %s at %.12s\n", s.branch, head)
	fmt.Fprintf(&b, "%s not in the project's branch\n", plural(len(commits), "commit that is", "commits that are"))
	for _, line := range commits {
		hash, subject, _ := strings.Cut(line, " ")
		fmt.Fprintf(&b, "  %.10s %s\n", hash, plain(subject))
	}
	fmt.Fprintf(&b, "%s changed\n", plural(len(files), "file", "files"))
	for _, f := range files[:min(len(files), maxListed)] {
		if f.Binary {
			fmt.Fprintf(&b, "  %s (binary)\n", plain(f.Path))
		} else {
			fmt.Fprintf(&b, "  %s +%d -%d\n", plain(f.Path), f.Added, f.Removed)
		}
	}
	return b.String() + s.reviewFolder(ctx), nil
}

// built lists the commits of the run's branch that are not in the project's, up to
// maxListed, and the files that they change.
func (s *site) built(ctx context.Context, head string) (commits []string, files []gitx.FileStat, err error) {
	base, err := s.Repo.MergeBase(ctx, s.branch, "HEAD")
	if err != nil {
		return nil, nil, err
	}
	if base == "" {
		base = head // nothing in common: there is nothing to compare with
	}
	if commits, err = s.Repo.Subjects(ctx, base, head, maxListed); err != nil {
		return nil, nil, err
	}
	files, err = s.Repo.DiffStat(ctx, base, head)
	return commits, files, err
}

// maxListed is how many of a kind a review lists.
const maxListed = 200

func (s *site) reviewFolder(ctx context.Context) string {
	place, c, _, err := s.find(ctx)
	switch {
	case err != nil:
		return fmt.Sprintf("the checkout cannot be read: %v\n", err)
	case c == absent || c == gone:
		return "it has no checkout\n"
	case c == half:
		return fmt.Sprintf("the checkout in %s was never finished\n", place)
	}
	in, err := s.Repo.In(ctx, s.abs(place))
	if err != nil {
		return fmt.Sprintf("the checkout cannot be read: %v\n", err)
	}
	changed, err := in.Uncommitted(ctx)
	if err != nil {
		return fmt.Sprintf("uncommitted files cannot be listed: %v\n", err)
	}
	text := fmt.Sprintf("checkout in %s, %s not committed\n", place, plural(len(changed), "file", "files"))
	for _, ch := range changed[:min(len(changed), maxListed)] {
		text += "  " + plain(ch.Path) + "\n"
	}
	return text
}

// plural counts things.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// plain shows a text from the repository on one line without control characters.
func plain(s string) string {
	return strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return '?'
		}
		return c
	}, s)
}

// MergeKey is what the commit that merges a build carries in its trailer.
func MergeKey(spec string) string { return "merge/" + spec }

// Merged is what came of a merge.
type Merged struct {
	Commit string // the commit that holds it
	Into   string // the branch that it was merged into, "" if it was before
	Text   string // one sentence
	Before bool   // it was merged already
}

// Merge merges what was built into the branch the project is on, and brings the
// project's copy of the spec up to date. Changes in the checkout that are not
// committed are refused, so that nothing is left behind unseen; so is a checkout
// of another branch in its place, and so is merging into another branch than the one
// that the run says it is for, or that its branch was made from.
//
// If the process dies here, merging again comes to the same end: what is merged
// is not merged twice.
func Merge(ctx context.Context, p Project) (Merged, error) {
	s, err := p.open()
	if err != nil {
		return Merged{}, err
	}
	place, c, err := s.mergeable(ctx)
	if err != nil {
		return Merged{}, err
	}
	key := MergeKey(s.spec)
	merged := Merged{Text: s.mergedBefore()}
	if merged.Commit, merged.Before, err = s.before(ctx); err != nil {
		return Merged{}, err
	}
	if !merged.Before {
		if err := s.rightBase(ctx); err != nil {
			return Merged{}, err
		}
		merged.Into = s.Repo.Current()
		merged.Commit, err = s.Repo.Merge(ctx, s.branch, "Merge "+s.branch, reprise.TrailerKey+": "+key)
		if err != nil {
			return Merged{}, withoutState(err, place, c)
		}
		merged.Text = fmt.Sprintf("%s was merged into %s as %.12s", s.branch, merged.Into, merged.Commit)
	}
	// crash: merged
	if c == whole {
		edits, err := s.backEdits(place)
		if err != nil {
			return Merged{}, err
		}
		if err := s.Store.Apply(ctx, edits); err != nil {
			return Merged{}, err
		}
	}
	return merged, s.Store.Flush()
}

// before tells whether what was built is merged already, and the commit of ours that did it:
// without one it was merged by hand, or holds nothing. It refuses where the files here no
// longer have what was merged, as after an undo of the merge that had to leave the commit.
func (s *site) before(ctx context.Context) (commit string, is bool, err error) {
	if is, err = s.Repo.IsAncestor(ctx, s.branch, "HEAD"); err != nil || !is {
		return "", is, err
	}
	commit, _, err = s.Repo.HasTrailer(ctx, "", reprise.TrailerKey, MergeKey(s.spec))
	if err != nil || commit == "" {
		return "", is, err
	}
	back, err := s.Repo.TakenOut(ctx, commit)
	if err != nil || len(back) == 0 {
		return commit, is, err
	}
	names, todo := make([]string, 0, len(back)), "`git status` shows them, and `git checkout HEAD -- FILE` brings one back"
	for _, name := range back {
		names = append(names, reprise.Pasted(name, ""))
	}
	if len(names) <= maxListed && !slices.Contains(names, "") {
		todo = "`git checkout HEAD -- " + strings.Join(names, " ") + "` brings them back"
	}
	return "", is, &RefusedError{
		Op: "merge " + s.branch, Path: ".",
		Reason: fmt.Sprintf("it is merged, and uncommitted changes here took back %s of it, %q among them", plural(len(back), "file", "files"), plain(back[0])),
		Todo:   todo + "; to do without them, commit that, and merge again",
	}
}

func (s *site) mergedBefore() string {
	if on := s.Repo.Current(); on != "" {
		return fmt.Sprintf("%s was already merged into %s", s.branch, on)
	}
	return fmt.Sprintf("%s was already merged", s.branch)
}

// rightBase refuses to merge into another branch than the one the run is for.
func (s *site) rightBase(ctx context.Context) error {
	on := s.Repo.Current()
	if on == "" {
		return nil // there is no branch to merge into, which is refused
	}
	base, how := s.Run.Base, "it was built for"
	if base == "" {
		var err error
		if base, err = s.cutFrom(ctx, on); err != nil {
			return err
		}
		how = "as far as git tells it was built on"
	}
	if base == "" || on == localName(base) {
		return nil
	}
	return &RefusedError{
		Op: "merge " + s.branch, Path: ".", Reason: fmt.Sprintf("%s %s, and %s is checked out", how, plain(base), plain(on)),
		Todo: "check out " + plain(localName(base)) + " first; to merge it into another branch, set baseBranch in task_metadata.json",
	}
}

func localName(branch string) string { return strings.TrimPrefix(branch, "origin/") }

// mainBranches are what the branch is called that work is usually for.
var mainBranches = []string{"main", "master", "trunk", "develop"}

// cutFrom is the branch that the run's branch was made from where that is not the one
// that is checked out, or "": as its log says, else by where it begins. One that is
// usually for such work counts if the run's branch does not begin behind it on the one
// that is checked out.
func (s *site) cutFrom(ctx context.Context, on string) (string, error) {
	if from := s.Repo.CreatedFrom(s.branch); from != "" {
		if _, there, err := s.Repo.Resolve(ctx, from); there || err != nil {
			return from, err
		}
	}
	tip, there, err := s.Repo.Resolve(ctx, s.branch)
	if err != nil || !there {
		return "", err
	}
	here, err := s.Repo.MergeBase(ctx, tip, "HEAD")
	if err != nil || here == "" {
		return "", err
	}
	for _, name := range mainBranches {
		if _, there, err := s.Repo.Resolve(ctx, name); err != nil {
			return "", err
		} else if !there || name == on {
			continue
		}
		at, err := s.Repo.MergeBase(ctx, tip, name)
		if err != nil {
			return "", err
		}
		if at == "" || at == tip || at == here && slices.Contains(mainBranches, on) {
			continue // it has nothing of it or all of it, or both are as good
		}
		if near, err := s.Repo.IsAncestor(ctx, here, at); near || err != nil {
			return name, err
		}
	}
	return "", nil
}

// mergeable gives the place of the checkout and what is there, unless merging is
// refused because of it.
func (s *site) mergeable(ctx context.Context) (place string, c condition, err error) {
	place, c, linked, err := s.find(ctx)
	if err != nil || c != whole {
		return place, c, err
	}
	if err := s.own(place, linked); err != nil {
		return place, c, err
	}
	in, err := s.Repo.In(ctx, s.abs(place))
	if err != nil {
		return place, c, err
	}
	left, err := in.Uncommitted(ctx)
	if err == nil && len(left) > 0 {
		err = &RefusedError{
			Path: place, Reason: fmt.Sprintf("it has uncommitted files (%d), %q among them", len(left), left[0].Path),
			Todo: fmt.Sprintf("`git -C %s add -A -- %s && git -C %[1]s commit -m wip` commits what is there; remove what should not be merged", reprise.Pasted(place, "FOLDER"), spelled(left)),
		}
	}
	return place, c, err
}

// withoutState adds to the refusal of a merge that only state files are in the way of how to
// take them out of the branch: the project has its own. The checkout keeps its copies.
func withoutState(err error, place string, c condition) error {
	not, ok := errors.AsType[*gitx.NotReadyError](err)
	if !ok || c != whole || not.Base == "" {
		return err
	}
	var names []string
	for _, p := range not.Paths {
		name := reprise.Pasted(p, "")
		if name == "" || !gitx.Kept(p) {
			return err
		}
		names = append(names, name)
	}
	not.Todo = fmt.Sprintf("`git -C %s reset -q %.12s -- %s && git -C %[1]s commit -m 'leave out the state'` takes them out of the branch, and the files stay; then merge again",
		reprise.Pasted(place, "FOLDER"), not.Base, strings.Join(names, " "))
	return err
}

// spelled gives changes as arguments of git: by name if they are few, otherwise all but what
// is never merged. The checkout's copy of the state must not come along: the project has its
// own, and they would conflict.
func spelled(left []reprise.Change) string {
	const few = 5
	var names []string
	for _, ch := range left {
		names = append(names, reprise.Pasted(ch.Path, ""))
	}
	if len(names) > few || slices.Contains(names, "") {
		return gitx.AllButKept
	}
	return strings.Join(names, " ")
}

// Discarded is where everything is kept that was given up.
type Discarded struct {
	Branch string // the name the branch has now, "" if there was none
	Text   string
}

// Discard gives up what was built and keeps all of it: what was not committed is
// committed, the folder is archived, the branch gets another name. A checkout of
// another branch in its place is refused, and nothing is changed then.
//
// If the process dies here, discarding again comes to the same end.
func Discard(ctx context.Context, p Project) (Discarded, error) {
	s, err := p.open()
	if err != nil {
		return Discarded{}, err
	}
	return s.discard(ctx)
}

func (s *site) discard(ctx context.Context) (Discarded, error) {
	for i := range 4 {
		place, c, linked, err := s.find(ctx)
		if err != nil {
			return Discarded{}, err
		}
		foreign := error(nil)
		if c == whole {
			foreign = s.own(place, linked)
		}
		if foreign != nil && i == 0 {
			return Discarded{}, foreign
		}
		if c == absent || foreign != nil {
			break // what is left at another place is not the run's
		}
		if c == whole {
			if err := s.commitRest(ctx, place); err != nil {
				return Discarded{}, err
			}
			// crash: rest-committed
		}
		if err := s.clear(ctx, place, c, linked); err != nil {
			return Discarded{}, err
		}
	}
	out, err := s.renameBranch(ctx)
	if err != nil {
		return Discarded{}, err
	}
	return out, s.Store.Flush()
}

// commitRest commits what is not committed. Where that cannot be done, as in the
// middle of a merge, the folder that is archived has it.
func (s *site) commitRest(ctx context.Context, place string) error {
	in, err := s.Repo.In(ctx, s.abs(place))
	if err != nil {
		return err
	}
	commit, err := in.Commit(ctx, nil, "auto-claude: work that was not finished when it was given up", reprise.TrailerKey+": discard/"+s.spec)
	var not *gitx.NotReadyError
	switch {
	case errors.As(err, &not):
		s.notes = append(s.notes, fmt.Sprintf("uncommitted work is only in the archived folder: %s", not.Reason))
		return nil
	case err != nil:
		return err
	case commit != "":
		s.notes = append(s.notes, fmt.Sprintf("uncommitted work is in %.12s", commit))
	}
	return s.Store.Flush()
}

// keptStem begins the names of branches that were given up.
const keptStem = "refs/heads/reprise/"

func branchName(ref string) string { return strings.TrimPrefix(ref, "refs/heads/") }

func (s *site) renameBranch(ctx context.Context) (Discarded, error) {
	var out Discarded
	_, have, err := s.Repo.Resolve(ctx, s.branch)
	if err != nil {
		return out, err
	}
	if have {
		if err := s.Repo.ClearBranchLock(ctx, s.branch, s.Age); err != nil {
			return out, err
		}
		ref, err := s.freeRef(ctx, keptStem+s.keptAs+"/"+s.spec)
		if err != nil {
			return out, err
		}
		out.Branch = branchName(ref)
		if err := s.Repo.RenameBranch(ctx, s.branch, out.Branch); err != nil {
			return out, err
		}
		s.notes = append(s.notes, fmt.Sprintf("its commits are kept as branch %s", out.Branch))
	}
	out.Text = "there was nothing to give up"
	if len(s.notes) > 0 {
		out.Text = strings.Join(s.notes, "; ")
	}
	return out, nil
}
