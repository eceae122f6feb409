package checklist

import "reprise/internal/doc"

func (l *list) readTree(*doc.Reader) {}
