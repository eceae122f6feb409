package project_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"reprise"
)

// TestOR2_corpus_by_eye holds every row of the corpus' by-eye judgements: the
// run named there is offered first, and what is called a trap is not offered.
// Where we are sure that another answer is better, differs says why.
func TestOR2_corpus_by_eye(t *testing.T) {
	t.Parallel()
	base := corpus(t)
	for _, c := range []struct {
		dir, now string
		first    string   // the id of the run or unit offered first; "" where nothing is interrupted
		then     []string // offered right behind it, in any order
		never    []string // ids or parts of paths that are not offered
		differs  string
	}{
		{dir: "SynkraAI__aiox-core", now: "2026-05-20T23:00:00-03:00", first: "124.2", then: []string{"124.3", "124.5"}, never: []string{"DEMO-TEST", "test-qa-loop", "EPIC-ACT", "naming-decision-matrix"}},
		{dir: "luizfosc__aios-core", now: "2026-03-13T20:00:00-03:00", never: []string{"test-bob-1", "EPIC-ACT"}},
		{dir: "felipezacker__ZmobCRM-Brownfield", now: "2026-03-14T12:00:00Z", first: "CP-8.1"},
		{dir: "felipezacker__ZmobCRM-Brownfield@c8643c1", now: "2026-02-26T12:00:00Z", first: "3.8", then: []string{"3.9", "3.10"}},
		{
			dir: "felipezacker__ZmobCRM-Brownfield@52db237", now: "2026-03-12T12:00:00Z", first: "CP-IMP-3", then: []string{"CP-5.6", "CP-IMP-2"},
			differs: "the table begins with the two in review and calls CP-IMP-3 new; all its boxes are ticked, and people took up none of the three next",
		},
		{
			dir: "avaranda66-oss__DASHBOARINSTAGRAM", now: "2026-03-15T12:00:00Z", first: "US-31", never: []string{"EPIC-STAT"},
			differs: "the table names US-21, an older Draft; US-31 is Ready, of the latest date, and not among those the epic calls done",
		},
		{dir: "avaranda66-oss__DASHBOARINSTAGRAM@2d10b3c", now: "2026-03-15T12:00:00Z"},
		{
			dir: "tiagoelesbao__severinos", now: "2026-03-18T12:00:00Z", first: "STARTER-01", then: []string{"OPS-03", "STARTER-02", "STARTER-03"}, never: []string{"/done/", "OPS-01", "OPS-02"},
			differs: "OPS-03, of the same day, follows the story of its epic that was finished last",
		},
		{
			dir: "tiagoelesbao__severinos@10c0c01", now: "2026-03-18T12:00:00Z", first: "dashboard-implementation", never: []string{"test.md", "teste-"},
			differs: "the table says nothing but test data; the smoke files are not offered, but one real story with criteria lies beside them",
		},
		{dir: "vxavierr__aios-hub", now: "2026-03-04T12:00:00Z"},
		{
			dir: "alessandrovarela__youtube-biolink", now: "2026-07-27T12:00:00Z", first: "1.1", never: []string{"EPIC-1", "EPIC-6"},
			differs: "the table says complete; one story has a passed gate and no ledger that calls it done, so its closing is offered, and nothing else",
		},
		{dir: "alessandrovarela__youtube-biolink@e776bfd", now: "2026-07-19T16:49:00Z", first: "PRE-1"},
		{dir: "alessandrovarela__youtube-biolink@2bef265", now: "2026-07-19T17:25:00Z", first: "6.3"},
		{dir: "alessandrovarela__youtube-biolink@57f0635", now: "2026-07-19T17:53:00Z", first: "6.4"},
		{dir: "48cork__fabrica-de-conhecimento-sociologico", now: "2026-04-08T12:00:00Z", first: "001.7", never: []string{"loop-status", "template", "001.5"}},
		{
			dir: "Jcnok__aiox-ray", now: "2026-04-03T12:00:00Z", first: "1.1", then: []string{"1.2", "1.3", "1.4", "1.5"},
			differs: "the table begins with 1.4, whose gate has passed; in the real history passed gates were not closed first, and nothing but the number tells the five apart",
		},
		{dir: "trackai-br__mvp1.0", now: "2026-03-10T12:00:00Z", first: "track-ai-011g", never: []string{"011d", "011e", "011f"}},
	} {
		t.Run(c.dir, func(t *testing.T) {
			now, err := time.Parse(time.RFC3339, c.now)
			if err != nil {
				t.Fatal(err)
			}
			var offered, where []string
			for _, r := range read(t, filepath.Join(base, "orchestrate", c.dir), now) {
				if r.State != reprise.Interrupted && r.State != reprise.NotStarted && r.State != reprise.Running {
					continue
				}
				for _, u := range r.Next {
					if !slices.Contains(offered, u.ID) {
						offered = append(offered, u.ID)
					}
					where = append(where, u.ID+" "+u.Path+" "+r.ID)
				}
			}
			if c.first == "" && len(offered) > 0 {
				t.Errorf("nothing is interrupted, offered %q", offered)
			}
			if c.first != "" && (len(offered) == 0 || offered[0] != c.first) {
				t.Errorf("%s is first, offered %q", c.first, offered)
			}
			for _, id := range c.then {
				if i := slices.Index(offered, id); i < 1 || i > len(c.then) {
					t.Errorf("%s stands behind it, offered %q", id, offered)
				}
			}
			for _, trap := range c.never {
				if slices.ContainsFunc(where, func(s string) bool { return strings.Contains(s, trap) }) {
					t.Errorf("%s is a trap and was offered: %q", trap, where)
				}
			}
		})
	}
}
