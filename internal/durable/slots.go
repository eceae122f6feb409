package durable

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
)

// A slot file holds one small fact that changes often: two places of 512 bytes
// that are written in turn, each with a counter and a checksum. A torn write
// spoils the place it went to; the other still holds the fact before.
const (
	slotSize    = 512
	slotVersion = "s1"
)

type slots struct {
	f       File
	counter uint64 // of the newest valid place
	data    []byte // its JSON, nil if there is none
	damaged bool   // a place holds something that is none
}

// readSlots reads both places.
func readSlots(f File) (slots, error) {
	s := slots{f: f}
	buf := make([]byte, 2*slotSize)
	n, err := f.ReadAt(buf, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return s, err
	}
	buf = buf[:n]
	for i := 0; i < 2 && len(buf) > i*slotSize; i++ {
		place := buf[i*slotSize : min(len(buf), (i+1)*slotSize)]
		if len(bytes.Trim(place, "\x00 \n")) == 0 {
			continue
		}
		counter, data, ok := parseSlot(place)
		if !ok {
			s.damaged = true
			continue
		}
		if counter > s.counter {
			s.counter, s.data = counter, data
		}
	}
	return s, nil
}

func parseSlot(place []byte) (uint64, []byte, bool) {
	if len(place) != slotSize || place[slotSize-1] != '\n' {
		return 0, nil, false
	}
	version, text, ok := unseal(bytes.TrimRight(place[:slotSize-1], " "))
	if !ok || version != slotVersion {
		return 0, nil, false
	}
	number, data, ok := bytes.Cut(text, []byte(" "))
	if !ok {
		return 0, nil, false
	}
	counter, err := strconv.ParseUint(string(number), 10, 64)
	return counter, data, err == nil && counter > 0
}

// encodeSlot gives the 512 bytes of one place.
func encodeSlot(counter uint64, v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	line := seal(slotVersion, strconv.FormatUint(counter, 10)+" "+string(b))
	if len(line) > slotSize-1 {
		return nil, ErrTooLarge
	}
	place := bytes.Repeat([]byte(" "), slotSize)
	copy(place, line)
	place[slotSize-1] = '\n'
	return place, nil
}

// blankSlots is a file whose first place holds v.
func blankSlots(v any) ([]byte, error) {
	first, err := encodeSlot(1, v)
	if err != nil {
		return nil, err
	}
	blank := bytes.Repeat([]byte(" "), slotSize)
	blank[slotSize-1] = '\n'
	return append(first, blank...), nil
}

// put writes v to the place that does not hold the newest fact. It is not
// durable until the file is synced.
func (s *slots) put(v any) error {
	place, err := encodeSlot(s.counter+1, v)
	if err != nil {
		return err
	}
	if _, err := s.f.WriteAt(place, int64(s.counter%2)*slotSize); err != nil {
		return err
	}
	s.counter++
	s.data = nil
	return nil
}
