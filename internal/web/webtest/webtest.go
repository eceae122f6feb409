// Package webtest drives a real Chromium for tests, by the pipe that it offers to
// debuggers. It needs Debian's chromium, or the program that REPRISE_BROWSER names.
package webtest

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// Patience is how long a condition is waited for.
const Patience = 60 * time.Second

// Browser is one page of a Chromium of its own.
type Browser struct {
	t       testing.TB
	in      *os.File
	session string

	mu       sync.Mutex
	last     int
	waiting  map[int]chan answer
	requests []string // the addresses that the page asked for
	problems []string // what it said on its console
}

type answer struct {
	Result json.RawMessage
	Error  *struct{ Message string }
}

// Open starts a browser; the test is left out where there is none.
func Open(t testing.TB) *Browser {
	t.Helper()
	program := os.Getenv("REPRISE_BROWSER")
	if program == "" {
		var err error
		if program, err = exec.LookPath("chromium"); err != nil {
			t.Skip("there is no chromium here; apt-get install chromium, or set REPRISE_BROWSER")
		}
	}
	theirs, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, ours, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	home, err := os.MkdirTemp("", "reprise-browser-")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars", "--user-data-dir="+home, "--remote-debugging-pipe", "about:blank")
	cmd.ExtraFiles = []*os.File{theirs, ours}
	cmd.Env = append(os.Environ(), "HOME="+home)
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	ours.Close()
	b := &Browser{t: t, in: in, waiting: map[int]chan answer{}}
	read := make(chan struct{})
	go func() {
		defer close(read)
		b.read(bufio.NewReaderSize(out, 1<<20))
	}()
	t.Cleanup(func() {
		_, _ = b.ask("Browser.close", nil, 3*time.Second)
		in.Close()
		cancel()
		_ = cmd.Wait()
		out.Close()
		<-read
		// Its helpers outlive it by a moment, and write until then.
		for began := time.Now(); os.RemoveAll(home) != nil && time.Since(began) < Patience; {
			time.Sleep(50 * time.Millisecond)
		}
	})
	var target struct{ TargetID string }
	b.call(&target, "Target.createTarget", map[string]any{"url": "about:blank"})
	var attached struct{ SessionID string }
	b.call(&attached, "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true})
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Network", "Log"} {
		b.call(nil, domain+".enable", nil)
	}
	return b
}

// read takes in what the browser says, one object after the other.
func (b *Browser) read(r *bufio.Reader) {
	for {
		text, err := r.ReadBytes(0)
		if err != nil {
			return
		}
		var m struct {
			answer
			ID     int
			Method string
			Params struct {
				Request struct{ URL string }
				Entry   struct{ Level, Text, URL string }
				Details struct {
					Text      string `json:"text"`
					Exception struct{ Description string }
				} `json:"exceptionDetails"`
			}
		}
		if json.Unmarshal(text[:len(text)-1], &m) != nil {
			continue
		}
		b.mu.Lock()
		switch {
		case m.ID != 0:
			if c := b.waiting[m.ID]; c != nil {
				c <- m.answer
				delete(b.waiting, m.ID)
			}
		case m.Method == "Network.requestWillBeSent":
			b.requests = append(b.requests, m.Params.Request.URL)
		case m.Method == "Log.entryAdded" && m.Params.Entry.Level == "error":
			b.problems = append(b.problems, m.Params.Entry.Text+" "+m.Params.Entry.URL)
		case m.Method == "Runtime.exceptionThrown":
			b.problems = append(b.problems, m.Params.Details.Text+" "+m.Params.Details.Exception.Description)
		}
		b.mu.Unlock()
	}
}

func (b *Browser) ask(method string, params any, most time.Duration) (answer, error) {
	b.mu.Lock()
	b.last++
	id, c := b.last, make(chan answer, 1)
	b.waiting[id] = c
	b.mu.Unlock()
	m := map[string]any{"id": id, "method": method}
	if params != nil {
		m["params"] = params
	}
	if b.session != "" && !strings.HasPrefix(method, "Browser.") && !strings.HasPrefix(method, "Target.") {
		m["sessionId"] = b.session
	}
	text, err := json.Marshal(m)
	if err != nil {
		return answer{}, err
	}
	if _, err := b.in.Write(append(text, 0)); err != nil {
		return answer{}, err
	}
	select {
	case a := <-c:
		if a.Error != nil {
			return a, fmt.Errorf("%s: %s", method, a.Error.Message)
		}
		return a, nil
	case <-time.After(most):
		return answer{}, fmt.Errorf("%s: no answer", method)
	}
}

// call asks the browser for something and reads the answer into result, if that is not nil.
func (b *Browser) call(result any, method string, params any) {
	b.t.Helper()
	a, err := b.ask(method, params, Patience)
	if err == nil && result != nil {
		err = json.Unmarshal(a.Result, result)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// Go opens an address and waits until the page and its scripts are there.
func (b *Browser) Go(address string) {
	b.t.Helper()
	b.call(nil, "Page.navigate", map[string]any{"url": address})
	at, err := url.Parse(address)
	if err != nil {
		b.t.Fatal(err)
	}
	b.Wait(fmt.Sprintf("location.host === %q && document.readyState === 'complete'", at.Host))
}

// Eval runs a script in the page and returns what it gives.
func (b *Browser) Eval(script string) any {
	b.t.Helper()
	var r struct {
		Result  struct{ Value any }
		Details *struct {
			Text      string
			Exception struct{ Description string }
		} `json:"exceptionDetails"`
	}
	b.call(&r, "Runtime.evaluate", map[string]any{"expression": script, "returnByValue": true, "awaitPromise": true})
	if r.Details != nil {
		b.t.Fatalf("%.200s: %s %s", script, r.Details.Text, r.Details.Exception.Description)
	}
	return r.Result.Value
}

// Wait waits until a script gives true, and returns how long that took.
func (b *Browser) Wait(script string) time.Duration {
	b.t.Helper()
	began := time.Now()
	for time.Since(began) < Patience {
		if a, err := b.ask("Runtime.evaluate", map[string]any{"expression": "!!(" + script + ")", "returnByValue": true}, Patience); err == nil {
			var r struct{ Result struct{ Value bool } }
			if json.Unmarshal(a.Result, &r) == nil && r.Result.Value {
				return time.Since(began)
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	b.t.Fatalf("in vain waited for %s on\n%.3000s\n%v", script, b.Eval("document.body ? document.body.innerText : ''"), b.Problems())
	return 0
}

// Type presses keys, one after the other. Names of keys stand in angle brackets.
func (b *Browser) Type(keys ...string) {
	b.t.Helper()
	b.Wait("document.readyState === 'complete'") // no one listens before the scripts have run
	for _, k := range keys {
		press := map[string]any{"key": k, "text": k}
		if name, is := strings.CutPrefix(k, "<"); is {
			name = strings.TrimSuffix(name, ">")
			codes := map[string]int{"Enter": 13, "Tab": 9, "Escape": 27, " ": 32}
			press = map[string]any{"key": name, "code": name, "windowsVirtualKeyCode": codes[name]}
			if name == "Enter" {
				press["text"] = "\r"
			}
		}
		for _, kind := range []string{"keyDown", "keyUp"} {
			press["type"] = kind
			b.call(nil, "Input.dispatchKeyEvent", press)
			delete(press, "text")
		}
	}
}

// Size makes the window so large, and light or dark.
func (b *Browser) Size(width, height int, dark bool) {
	b.t.Helper()
	b.call(nil, "Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500})
	scheme := map[bool]string{true: "dark", false: "light"}[dark]
	b.call(nil, "Emulation.setEmulatedMedia", map[string]any{"features": []any{map[string]any{"name": "prefers-color-scheme", "value": scheme}, map[string]any{"name": "prefers-reduced-motion", "value": "reduce"}}})
}

// Picture is what the window shows, as png or webp.
func (b *Browser) Picture(format string) []byte {
	b.t.Helper()
	var r struct{ Data string }
	params := map[string]any{"format": format}
	if format == "webp" {
		params["quality"] = 60
	}
	b.call(&r, "Page.captureScreenshot", params)
	data, err := base64.StdEncoding.DecodeString(r.Data)
	if err != nil {
		b.t.Fatal(err)
	}
	return data
}

// Forget drops all cookies.
func (b *Browser) Forget() {
	b.t.Helper()
	b.call(nil, "Network.clearBrowserCookies", nil)
}

// Requests are the addresses that pages asked for.
func (b *Browser) Requests() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string{}, b.requests...)
}

// Problems are what pages complained about: errors of scripts, and what the policy kept
// away.
func (b *Browser) Problems() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string{}, b.problems...)
}
