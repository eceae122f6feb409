package gitx

import (
	"path/filepath"
	"strings"
)

// relSlash gives p, a slash path below the top of a repository, as seen from
// prefix, a folder there that is empty or ends in "/". Names are taken as
// bytes: nothing is cleaned, for a file may have any name. A folder keeps the
// slash at its end.
func relSlash(prefix, p string) string {
	if rest, ok := strings.CutPrefix(p, prefix); ok {
		if rest == "" {
			return "./"
		}
		return rest
	}
	up := 0
	for prefix != "" && !strings.HasPrefix(p, prefix) {
		prefix = prefix[:strings.LastIndexByte(strings.TrimSuffix(prefix, "/"), '/')+1]
		up++
	}
	return strings.Repeat("../", up) + p[len(prefix):]
}

// relAbs gives an absolute path as a slash path seen from dir.
func relAbs(dir, p string) string {
	if real, err := filepath.EvalSymlinks(p); err == nil {
		p = real
	} else if real, err := filepath.EvalSymlinks(filepath.Dir(p)); err == nil {
		p = filepath.Join(real, filepath.Base(p))
	}
	rel, err := filepath.Rel(dir, p)
	if err != nil {
		return filepath.ToSlash(p)
	}
	return filepath.ToSlash(rel)
}
