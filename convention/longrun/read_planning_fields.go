package longrun

import (
	"slices"
	"strings"

	"reprise/internal/doc"
	"reprise/internal/ledger"
)

// stateLabels are the labels of the body by what they tell, in the languages
// they were met in. A label in two languages, "Phase / Faz", is either.
var stateLabels = map[string][]string{
	"phase": {
		"Phase", "Current Phase", "Active Phase", "Project Phase",
		"Fase", "Fase atual", "Fase actual", "Phase actuelle", "Aktuelle Phase", "Fase attuale", "Etapa", "Этап", "Фаза", "Текущая фаза",
		"阶段", "当前阶段", "階段", "フェーズ", "現在のフェーズ", "단계", "현재 단계", "Faz", "Giai đoạn",
	},
	"plan": {"Plan", "Current Plan", "Plano", "Plano atual", "Piano", "План", "计划", "当前计划", "プラン", "계획"},
	"status": {
		"Status", "Current Status", "Phase Status", "Project Status",
		"Estado", "Estado atual", "Estado actual", "Situação", "Statut", "Stato", "Статус", "Состояние",
		"状态", "当前状态", "狀態", "状態", "ステータス", "상태", "현재 상태", "Durum", "Trạng thái",
	},
	"activity":  {"Last activity", "Last_activity", "Última atividade", "Última actividad", "Dernière activité", "Letzte Aktivität", "Последняя активность", "最近活动", "最后活动", "最終アクティビティ", "마지막 활동", "Son aktivite"},
	"stopped":   {"Stopped at", "Parado em", "Detenido en", "Arrêté à", "停止于", "停止位置"},
	"focus":     {"Current focus", "Foco atual", "Foco actual", "Aktueller Fokus", "Focus actuel", "当前焦点", "当前重点", "現在のフォーカス"},
	"session":   {"Last session", "Last updated", "Última sessão", "Última sesión", "Última atualização", "Última actualización", "Letzte Aktualisierung", "Dernière mise à jour", "最后更新", "最終更新", "마지막 업데이트", "마지막 세션"},
	"resume":    {"Resume file", "Resume", "Resume action"},
	"next":      {"Next", "Next plan", "Next action", "Next step", "Next steps", "Next command"},
	"progress":  {"Progress"},
	"goal":      {"Goal"},
	"milestone": {"Milestone", "Current Milestone", "Marco", "Hito", "Meilenstein", "里程碑", "当前里程碑", "マイルストーン", "마일스톤"},
}

// positionTitles begin the headings of the section about the position. The
// first of these lines are GSD's own; the others are met where it is missing.
var positionTitles = [][]string{
	{"current position", "current state", "current status"},
	{
		"position", "active phase", "current phase", "project status",
		"posicao atual", "posicion actual", "estado atual", "estado actual", "fase atual", "fase actual", "position actuelle", "phase actuelle", "etat actuel",
		"aktuelle position", "aktueller stand", "aktueller status", "aktuelle phase", "posizione attuale", "stato attuale", "fase attuale",
		"текущая позиция", "текущее состояние", "текущая фаза", "mevcut konum", "mevcut durum",
		"当前位置", "当前阶段", "当前状态", "現在の位置", "現在の状態", "現在地", "현재 위치", "현재 상태", "현재 단계",
	},
}

// positions returns the sections about the position, the likeliest first.
func positions(m *doc.Markdown) (out []doc.Section) {
	for i, titles := range positionTitles {
		for _, sec := range m.Sections() {
			title := doc.Fold(sec.Title)
			if !slices.ContainsFunc(titles, func(t string) bool {
				return title == t || strings.HasPrefix(title, t+" ") || t[0] >= 0x80 && strings.HasPrefix(title, t)
			}) {
				continue
			}
			out = append(out, sec)
			if i == 0 {
				break
			}
		}
	}
	return out
}

// bodyFields looks for each label in the sections about the position first and
// in the whole body after that.
func bodyFields(f *doc.File, m *doc.Markdown) map[string]ledger.Text {
	out := map[string]ledger.Text{}
	scopes := append(positions(m), m.All())
	for i, scope := range scopes {
		labels := statements(scope)
		for key, names := range stateLabels {
			if _, found := out[key]; found {
				continue
			}
			l, ok := pick(labels, names...)
			if key == "phase" && ok && holdsDone(l.Value) && i+1 < len(scopes) {
				l = undone(labels, l, names)
			}
			if ok {
				out[key] = ledger.Label(f, l)
			}
		}
	}
	return out
}

// undone returns the first label of a phase that is not called done, where a
// section has several; else the one given.
func undone(labels []doc.Label, first doc.Label, names []string) doc.Label {
	for _, l := range labels {
		if same, ok := pick([]doc.Label{l}, names...); ok && !holdsDone(same.Value) {
			if _, numbered := phaseIn(same.Value, true); numbered {
				return same
			}
		}
	}
	return first
}

// maxSpoken bounds how many lines of a section without labels are read.
const maxSpoken = 8

// readFields gives the labels of the body by what they tell, and adds what the
// sections about the position say without a label: the phase in their heading or in
// a line that begins with it ("Phase 5: Launch"), of several the first that is not
// done, and that the whole is done. A file without such a section is read from its
// beginning. What has no label has no place to write.
func readFields(f *doc.File, m *doc.Markdown) map[string]ledger.Text {
	fields := bodyFields(f, m)
	sections := positions(m)
	if first := m.Sections(); len(sections) == 0 && len(first) > 0 {
		sections = first[:1]
	}
	for _, sec := range sections {
		_, title, _ := strings.Cut(sec.Title, ":")
		if _, known := fields["phase"]; !known {
			if _, ok := phaseIn(title, true); ok { // ## Current Phase: 4 - Launch
				fields["phase"] = ledger.Text{Value: plainText(title), Line: sec.Line}
			}
		}
		read := 0
		for _, l := range sec.Head().Lines() {
			text := plainText(strings.TrimLeft(l.Text, " \t>-*+"))
			if text == "" {
				continue
			}
			if read++; read > maxSpoken {
				break
			}
			said := ledger.Text{Value: text, Line: l.No}
			word := readGSDWord(text)
			short := word != gsdNone && word != gsdOther && len(strings.Fields(text)) < 3 // "Complete"
			if _, known := fields["status"]; !known && (word == gsdMilestone || short) {
				fields["status"] = said
			}
			before, known := fields["phase"]
			if _, named := cutPhaseWord(text); !named || known && (before.There() || !holdsDone(before.Value)) {
				continue
			}
			if _, ok := phaseIn(text, false); ok {
				fields["phase"] = said
			}
		}
	}
	return fields
}
