package temporal_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"reprise"
)

// gate is a way to the server that can be shut. It is shut at first.
type gate struct {
	address string
	mu      sync.Mutex
	open    net.Listener
	through []net.Conn
	still   sync.RWMutex // held for as long as nothing comes through
}

// Write lets nothing through while the gate is still.
func (w slow) Write(p []byte) (int, error) {
	w.g.still.RLock()
	defer w.g.still.RUnlock()
	return w.Conn.Write(p)
}

type slow struct {
	net.Conn
	g *gate
}

func newGate(t *testing.T) *gate {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{address: l.Addr().String()}
	l.Close()
	t.Cleanup(g.shut)
	return g
}

// let lets connections through.
func (g *gate) let() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open != nil {
		return nil
	}
	l, err := net.Listen("tcp", g.address)
	// Another connection may have been given the port meanwhile, until it ends.
	for deadline := time.Now().Add(2 * time.Minute); errors.Is(err, syscall.EADDRINUSE) && time.Now().Before(deadline); l, err = net.Listen("tcp", g.address) {
		time.Sleep(100 * time.Millisecond)
	}
	if err != nil {
		return err
	}
	g.open = l
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", shared.port))
			if err != nil {
				from.Close()
				continue
			}
			g.mu.Lock()
			if g.open != l {
				from.Close()
				to.Close()
			}
			g.through = append(g.through, from, to)
			g.mu.Unlock()
			for a, b := range map[net.Conn]net.Conn{from: to, to: from} {
				go func() { _, _ = io.Copy(slow{a, g}, b); a.Close(); b.Close() }()
			}
		}
	}()
	return nil
}

// shut ends the connections and lets no other through.
func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open != nil {
		g.open.Close()
	}
	for _, c := range g.through {
		c.Close()
	}
	g.open, g.through = nil, nil
}

// A worker that is started while the remote and the server are away waits for them, and says
// so. (issue 19)
func TestFleet_a_worker_waits_for_what_is_away(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"flow.yaml": "name: own\nsteps:\n  - {id: a, command: [\"true\"]}\n"})
	g := newGate(t)
	away := s.remote + ".away"
	if err := os.Rename(s.remote, away); err != nil {
		t.Fatal(err)
	}
	s.worker("w1", "TEMPORAL_ADDRESS="+g.address)
	said := func(what string) bool {
		text, _ := os.ReadFile(filepath.Join(s.dir, "w1.log"))
		return strings.Contains(string(text), what)
	}
	s.until("it waits for the remote", func() bool { return said("waiting for the remote") })
	if err := os.Rename(away, s.remote); err != nil {
		t.Fatal(err)
	}
	s.until("it waits for the server", func() bool { return said("waiting for the server") })
	// To be stopped meanwhile is no failure.
	w2 := s.worker("w2", "TEMPORAL_ADDRESS="+g.address)
	s.until("the second one waits", func() bool { text, _ := os.ReadFile(filepath.Join(s.dir, "w2.log")); return len(text) > 0 })
	_ = w2.Process.Signal(syscall.SIGTERM)
	if <-w2.gone; !w2.ProcessState.Success() {
		t.Errorf("it ended with %v", w2.ProcessState)
	}
	if err := g.let(); err != nil {
		t.Fatal(err)
	}
	if r := s.fleet("run", "flow.yaml", "--id", "late", "--json"); r.code != 0 || s.summary(r).State != reprise.Complete {
		t.Errorf("%+v", r)
	}
}

// A server that answers late, but within a heartbeat, costs no agent its work. (issue 19)
func TestFleet_a_slow_server_stops_no_agent(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"flow.yaml": "name: own\nsteps:\n" +
		`  - {id: a, command: [sh, -c, 'echo "slow a $REPRISE_ATTEMPT" >> "$FLEET_LOG"; while test ! -e "$FLEET_LOG.go"; do sleep 0.1; done; echo a > a.txt'], outputs: [a.txt]}` + "\n"})
	g := newGate(t)
	if err := g.let(); err != nil {
		t.Fatal(err)
	}
	s.worker("w1", "TEMPORAL_ADDRESS="+g.address)
	if r := s.fleet("run", "flow.yaml", "--id", "slow", "--detach", "--heartbeat", "15s"); r.code != 0 {
		t.Fatal(r)
	}
	s.until("a is at work", func() bool { return s.attempts("slow", "a") == 1 })
	for range 2 {
		time.Sleep(time.Second)
		g.still.Lock()
		time.Sleep(5 * time.Second)
		g.still.Unlock()
	}
	if err := os.WriteFile(s.launches+".go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := s.fleet("resume", "slow"); !ended(r) || s.attempts("slow", "a") != 1 {
		t.Errorf("%+v after %d attempts", r, s.attempts("slow", "a"))
	}
}

// member is a process that the tests started.
type member struct {
	*exec.Cmd
	gone chan struct{} // closed once it has ended
}

// rest ends what it had started and what outlived it, such as a push: that would still write
// to the folders of the test.
func (m *member) rest() {
	for range 1000 {
		if syscall.Kill(-m.Process.Pid, syscall.SIGKILL) != nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// kill ends it, and returns once it has ended.
func (m *member) kill() {
	_ = m.Process.Kill()
	<-m.gone
}
