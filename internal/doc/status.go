package doc

import (
	"cmp"
	"strings"
	"sync"

	"reprise"
)

// words are those for a status that mean the same in every tool: as a value, in a box and beside
// a task.
var words = map[reprise.Status][]string{
	reprise.Pending: {
		"pending", "todo", "to do", "open", "new", "not started", "planned", "queued", "ready", "backlog", "spec ready", "not done", "not complete", "not completed", "not finished",
		"not implemented", "not yet started", "not yet done", "not yet complete", "not yet implemented", "incomplete", "unfinished", "still pending", "not done yet", "not complete yet",
		"not completed yet", "not finished yet", "not implemented yet", "not started yet", "tbd", "no", "pendiente", "pendente", "offen", "待办", "待处理", "待开始", "未开始", "未完成", "未完了", "未着手",
	},
	reprise.InProgress: {
		"in progress", "started", "doing", "wip", "working", "running", "/", "partial", "partially", "partially done", "partially complete", "partially completed", "partially implemented",
		"still in progress", "en cours", "en progreso", "em andamento", "in arbeit", "진행중", "进行中", "進行中", "作業中",
	},
	reprise.InReview: {"in review", "review", "needs review", "ready for review"},
	reprise.Done:     {"done", "complete", "completed", "finished", "closed", "passed", "ok", "yes", "erledigt", "completado", "hecho", "feito", "완료", "已完成", "完成", "完了", "完了済み"},
	reprise.Failed:   {"failed"},
	reprise.Blocked:  {"blocked", "on hold", "hold", "paused", "waiting", "deferred", "postponed", "阻塞", "已阻塞", "延期"},
	reprise.Skipped: {
		"skipped", "skip", "cancelled", "canceled", "dropped", "deprecated", "obsolete", "superseded", "wont do", "won't do", "wontfix", "out of scope", "n/a", "not applicable", "not needed",
		"no longer needed", "已跳过", "已取消", "取消",
	},
}

// Signs are what people put in place of a word.
var Signs = map[reprise.Status]string{
	reprise.Pending: "☐⬜🔲🔳", reprise.InProgress: "⏳⌛🔄🚧", reprise.Failed: "❌✗✘", reprise.Done: "✅☑✓✔", reprise.Blocked: "⏸⛔🚫", reprise.Skipped: "⏭",
}

// Words returns the words, folded, and the signs with what they mean.
var Words = sync.OnceValue(func() map[string]reprise.Status {
	out := map[string]reprise.Status{}
	for status, words := range words {
		for _, word := range words {
			out[Fold(word)] = status
		}
	}
	for status, signs := range Signs {
		for _, sign := range signs {
			out[string(sign)] = status
		}
	}
	return out
})

// Means returns the status that a word or a sign stands for, Unknown if it is none. A cross in a
// box may be meant as a tick.
func Means(word string) reprise.Status {
	word = strings.TrimSuffix(word, "\ufe0f")
	if status, ok := Words()[cmp.Or(Fold(word), word)]; ok && !strings.Contains(Signs[reprise.Failed], word) {
		return status
	}
	return reprise.Unknown
}
