package transcript

import (
	"math"
	"strings"
)

// table is a table and the places of its columns.
type table struct {
	root    uint32
	columns map[string]int
}

// tables reads the schema.
func (l *lite) tables() (map[string]table, error) {
	out := map[string]table{}
	err := l.backward(1, func(row []any) error {
		if len(row) < 5 || asText(row[0]) != "table" {
			return nil
		}
		root, _ := row[3].(int64)
		if root > 0 && root <= math.MaxUint32 {
			out[asText(row[2])] = table{root: uint32(root), columns: columns(asText(row[4]))}
		}
		return nil
	})
	return out, err
}

// columns finds the names of the columns in the text that made a table.
func columns(sql string) map[string]int {
	_, sql, _ = strings.Cut(sql, "(")
	out, depth, start := map[string]int{}, 0, 0
	add := func(def string) {
		f := strings.Fields(def)
		if len(f) == 0 {
			return
		}
		switch strings.ToUpper(f[0]) {
		case "CONSTRAINT", "PRIMARY", "FOREIGN", "UNIQUE", "CHECK":
			return
		}
		out[strings.ToLower(strings.Trim(f[0], "`\"[]"))] = len(out)
	}
	for i, c := range sql {
		switch c {
		case '(':
			depth++
		case ')':
			if depth--; depth < 0 {
				add(sql[start:i])
				return out
			}
		case ',':
			if depth == 0 {
				add(sql[start:i])
				start = i + 1
			}
		}
	}
	return out
}

func asText(v any) string {
	b, _ := v.([]byte)
	return string(b)
}

// get is the value of a column, nil if the row has none.
func (t table) get(row []any, name string) any {
	i, ok := t.columns[name]
	if !ok || i >= len(row) {
		return nil
	}
	return row[i]
}
