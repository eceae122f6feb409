package orchestrate

import (
	"cmp"
	"maps"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"reprise"
)

// Rank sorts the runs in the order in which one would resume them.
//
// The state of an orchestrator comes first while the work agrees with it: it
// knows better than any guess where it stands. Then come the stories by their
// score, then states that the stories have left behind, specifications, what
// cannot be read, what was stopped and what is complete. The story that a
// current epic offers first follows the others, so that it is not offered twice.
func (*Layout) Rank(runs []*reprise.Run, o reprise.Observed) {
	k := newRanking(runs, o)
	keys := make(map[*reprise.Run]rankKey, len(runs))
	for _, r := range runs {
		keys[r] = k.key(r)
		r.Placed = k.reasons(r, keys[r])
	}
	slices.SortStableFunc(runs, func(a, b *reprise.Run) int { return keys[a].compare(keys[b]) })
}

// term is one reason for or against continuing a story next.
type term struct {
	name   string
	weight float64
	why    string
}

// The terms of a story's score, the indexes of terms.
const (
	storyAge = iota
	epicAge
	inReviewNow
	reviewsLeft
	namedLast
	heir
	behindLast
	allBefore
	waitsForPerson
	withoutStatus
	termCount
)

// terms is how stories are ranked: the score of a story is the sum of its
// values, each times its weight. The weights are the same for every project.
// They were fitted to what people did next in the histories of public
// projects; `make fit` does that again and says how well the fit does on a
// project it has not seen. Ages count in doublings: a story changed one commit
// ago differs from one changed three commits ago as much as that one from one
// changed seven commits ago.
var terms = [termCount]term{
	storyAge:       {"story age", -9, "work continues where it was: the story changed last is the likeliest"},
	epicAge:        {"epic age", -7, "work stays in one epic; a story that was finished hands on to its neighbours"},
	inReviewNow:    {"in review", 15, "a review that people do close is a short last step"},
	reviewsLeft:    {"reviews left open", -74, "where reviews are not closed, a story in review is finished as far as people are concerned"},
	namedLast:      {"named by the last commit", 7, "the last commit says which story it was about"},
	heir:           {"next in its epic", 10, "it follows the story of its epic that was finished last"},
	behindLast:     {"behind the last change", 8, "it follows the story that was changed last, whatever epic that belongs to"},
	allBefore:      {"nothing open before it", 9, "epics are worked through in order"},
	waitsForPerson: {"waits for a person", -11, "it is blocked, or waits for a decision"},
	withoutStatus:  {"no status", -39, "without a status it is often not a story, or one that is not being worked on"},
}

// values are what the terms of one story amount to.
type values [termCount]float64

func (v values) score() (sum float64) {
	for i, t := range terms {
		sum += t.weight * v[i]
	}
	return sum
}

// The tiers of the list.
const (
	tierCurrent = iota // states that the work agrees with
	tierStory
	tierOffered // the story that a current epic offers first
	tierState   // states that the stories have left behind, specifications
	tierVague   // cannot be read
	tierStopped
	tierComplete
)

// rankKey is compared field by field.
type rankKey struct {
	tier    int
	waiting bool
	place   int     // of a state: by its kind
	score   float64 // of a story
	active  time.Time
	key     key
	path    string
}

func (a rankKey) compare(b rankKey) int {
	return cmp.Or(
		cmp.Compare(a.tier, b.tier), cmp.Compare(one(a.waiting), one(b.waiting)), cmp.Compare(a.place, b.place), cmp.Compare(b.score, a.score),
		b.active.Compare(a.active), compareOrder(a.key, b.key), strings.Compare(a.path, b.path),
	)
}

// ranking is what is known of all runs together.
type ranking struct {
	history history
	stories map[*reprise.Run]*entry
	epics   map[epicPlace][]*entry // by number
	made    []*entry               // of all epics, the latest first
	behind  *entry                 // the story behind the one that was changed last, by number
	offered map[string]bool
}

// entry is a story as the ranking sees it.
type entry struct {
	run  *reprise.Run
	key  key
	epic epicPlace
	// made: in review, done or given up, or a person has to say whether it is done;
	// review: the first of these.
	made, review, vague bool
	age                 int // how many times stories were changed since it was
}

// epicPlace is the epic of a story: two folders may number theirs alike.
type epicPlace struct {
	dir string
	epicKey
}

func newRanking(runs []*reprise.Run, o reprise.Observed) *ranking {
	k := &ranking{
		history: newHistory(runs, o), stories: map[*reprise.Run]*entry{}, epics: map[epicPlace][]*entry{}, offered: map[string]bool{},
	}
	for _, r := range runs {
		switch {
		case r.Kind == reprise.KindStory:
			e := newEntry(r)
			e.age = k.history.age(r.Path)
			k.stories[r], k.epics[e.epic] = e, append(k.epics[e.epic], e)
			if e.made {
				k.made = append(k.made, e)
			}
		case r.Kind == reprise.KindEpic && k.current(r) && len(r.Next) > 0:
			k.offered[r.Next[0].Path] = true
		}
	}
	for _, stories := range k.epics {
		slices.SortStableFunc(stories, byNumber)
	}
	k.behind = behindLatest(slices.SortedFunc(maps.Values(k.stories), byNumber))
	slices.SortStableFunc(k.made, func(a, b *entry) int { return cmp.Or(cmp.Compare(a.age, b.age), byNumber(b, a)) })
	return k
}

// behindLatest gives the story behind the one that was changed last, nil if there is none.
// Of several that were changed together the last counts.
func behindLatest(byNumber []*entry) *entry {
	at := -1
	for i, e := range byNumber {
		if at < 0 || e.age <= byNumber[at].age {
			at = i
		}
	}
	if at < 0 || at+1 == len(byNumber) {
		return nil
	}
	return byNumber[at+1]
}

func byNumber(a, b *entry) int {
	return cmp.Or(compareOrder(a.key, b.key), strings.Compare(a.run.Path, b.run.Path))
}

func newEntry(r *reprise.Run) *entry {
	e := &entry{run: r, key: storyKey(r.Path), vague: true}
	e.epic = epicPlace{path.Dir(r.Path), e.key.epic()}
	if len(e.key.nums) == 0 {
		e.epic.prefix = "" // a name without a number says nothing of the epic
	}
	if len(r.Steps) > 0 {
		review := &r.Steps[len(r.Steps)-1]
		e.review = review.Status == reprise.InReview
		e.made = e.review || review.Status.Closed() || review.Status == reprise.Unknown && asksWhetherDone(r)
		e.vague = review.Status == reprise.Unknown || !slices.ContainsFunc(review.Claims, func(c reprise.Claim) bool { return c.Won })
	}
	return e
}

func asksWhetherDone(r *reprise.Run) bool {
	return slices.ContainsFunc(r.Questions, func(q reprise.Question) bool { return strings.HasPrefix(q.ID, closeStory) })
}

func (k *ranking) key(r *reprise.Run) rankKey {
	out := rankKey{path: r.Path, active: r.LastActivity}
	e := k.stories[r]
	switch {
	case r.State == reprise.Complete:
		out.tier = tierComplete
	case r.State == reprise.Stopped:
		out.tier = tierStopped
	case r.State == reprise.Unreadable:
		out.tier = tierVague
	case e != nil:
		out.tier, out.key, out.score = tierStory, e.key, k.values(e).score()
		out.active = time.Time{}
		if k.offered[r.Path] {
			out.tier = tierOffered
		}
	default:
		out.tier, out.waiting = tierState, r.State == reprise.Waiting
		out.place = slices.Index([]reprise.Kind{reprise.KindEpic, reprise.KindQALoop, reprise.KindWorkflow, reprise.KindSpecPipeline}, r.Kind)
		if k.current(r) {
			out.tier = tierCurrent
		}
	}
	return out
}

// tierReasons say why a run stands in its tier, for those that no sum orders.
var tierReasons = map[int]reprise.Reason{
	tierCurrent: {Term: "state", Why: "an orchestrator's own state file says where it stands"},
	tierOffered: {Term: "offered", Why: "the epic in front of it offers it first"},
	tierState:   {Term: "state", Why: "it is blocked, a specification, or older than the last change of a story"},
	tierVague:   {Term: "unreadable", Why: "unreadable runs come after readable ones"},
	tierStopped: {Term: "stopped", Why: "what is over comes last"}, tierComplete: {Term: "complete", Why: "what is over comes last"},
}

// reasons tell what puts a run where it stands: its tier, or the terms of its score, the
// weightiest first.
func (k *ranking) reasons(r *reprise.Run, at rankKey) (out []reprise.Reason) {
	if at.tier != tierStory {
		return []reprise.Reason{tierReasons[at.tier]}
	}
	v := k.values(k.stories[r])
	for i, t := range terms {
		if v[i] != 0 {
			out = append(out, reprise.Reason{Term: t.name, Value: v[i], Weight: t.weight, Why: t.why})
		}
	}
	slices.SortStableFunc(out, func(a, b reprise.Reason) int { return cmp.Compare(math.Abs(b.Points()), math.Abs(a.Points())) })
	return out
}

// agreesFor is how much later than a state the last change of a story may be
// before the work has left the state behind. A commit follows what it commits,
// and many states name a day only.
const agreesFor = 24 * time.Hour

// current reports whether the work agrees with a state: it is neither blocked nor
// older than the last change of a story.
func (k *ranking) current(r *reprise.Run) bool {
	if r.State != reprise.Interrupted || r.Kind == reprise.KindSpecPipeline {
		return false
	}
	at := r.LastActivity
	return at.IsZero() || k.history.latest.Sub(at) <= agreesFor
}

// values gives the terms of a story.
func (k *ranking) values(e *entry) values {
	epic := k.epics[e.epic]
	youngest := slices.MinFunc(epic, func(a, b *entry) int { return cmp.Compare(a.age, b.age) })
	v := values{storyAge: doublings(e.age), epicAge: doublings(youngest.age)}
	v[namedLast] = one(k.history.names(e.key))
	v[behindLast] = one(k.behind == e)
	v[heir] = one(heirOf(epic) == e)
	v[allBefore] = one(!slices.ContainsFunc(epic, func(o *entry) bool { return !o.made && compareOrder(o.key, e.key) < 0 }))
	v[waitsForPerson] = one(e.run.State == reprise.Waiting)
	v[withoutStatus] = one(e.vague)
	if e.review {
		v[inReviewNow], v[reviewsLeft] = 1, k.reviewsLeft(e)
	}
	return v
}

func one(ok bool) float64 {
	if ok {
		return 1
	}
	return 0
}

func doublings(n int) float64 { return math.Log2(1 + float64(n)) }

// heirOf is the first open story of an epic behind the one that was made last.
func heirOf(epic []*entry) (heir *entry) {
	made := -1
	for i, e := range epic {
		if e.made && (made < 0 || e.age <= epic[made].age) {
			made = i
		}
	}
	if made < 0 {
		return nil
	}
	if i := slices.IndexFunc(epic[made:], func(e *entry) bool { return !e.made }); i >= 0 {
		return epic[made+i]
	}
	return nil
}

// fades is the weight of a story's habit relative to that of the next story.
const fades = 0.85

// reviewsLeft is the share of stories whose review was left open among those that
// were made, those of the same epic first, then the latest. With none to go by it
// is a half.
func (k *ranking) reviewsLeft(e *entry) float64 {
	left, all, counts := 0.5, 1.0, 1.0
	for _, same := range []bool{true, false} {
		for _, o := range k.made {
			if o == e || (o.epic == e.epic) != same {
				continue
			}
			all += counts
			left += counts * one(o.review)
			counts *= fades
		}
	}
	return left / all
}
