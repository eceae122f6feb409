package redact_test

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"reprise/internal/redact"
)

// long is more than any text here has.
const long = 4 << 10

// ordinary are command lines without a secret. They are shown as they are.
var ordinary = []string{
	`git status --porcelain`,
	`git show 8c1f2ab40211d0e8c1f2ab40211d0e8c1f2ab402 --stat`,
	`git commit -m "auth: rotate the token before it expires"`,
	`git commit -m 'fix: password reset mail is sent twice (#421)'`,
	`git checkout -b feature/api-key-rotation`,
	`git log --format=%H --author=ada@example.org -- docs/tokens.md`,
	`git clone https://github.com/acme/shop.git`,
	`git clone git@github.com:acme/shop.git && cd shop`,
	`git push origin HEAD:refs/heads/token-refresh`,
	`git remote add up ssh://git@git.example.org:2222/acme/shop.git`,
	`git diff 4b825dc642cb6eb9a060e54bf8d69288fbee4904 HEAD -- src`,
	`git config --global user.email ada@example.org`,
	`git rev-parse --verify 9fceb02d0ae598e95dc970b74767f19372d61af8^{commit}`,
	`npm run test -- --testNamePattern "token expiry"`,
	`npm install --save-dev tokenizer@1.2.3 @acme/secret-santa`,
	`npx jest src/auth/token.test.ts --coverage=false`,
	`pnpm --filter @acme/api build && pnpm dlx tsx scripts/token.ts`,
	`go test ./... -run 'TestToken|TestPassword' -count=1`,
	`go build -ldflags "-X main.version=1.2.3 -X main.commit=8c1f2ab40211"`,
	`cargo test --features token,password -- --nocapture`,
	`python -m pytest tests/test_password.py -k "not token" -q`,
	`python -c "import os; print(len(os.environ))"`,
	`python -c 'client = Client(token=token, password=os.environ["DB_PASSWORD"])'`,
	`python -c 'print(login(user=name, password=get_password(name), secret=settings.SECRET))'`,
	`make KEY=value CACHE_KEY=v1-linux-amd64 SORT_KEY=created_at`,
	`MAX_TOKENS=4096 TOKEN_LIMIT=5 node run.js`,
	`TOKENIZERS_PARALLELISM=false python train.py --tokenizer gpt2 --max-tokens 200`,
	`export PATH=$PATH:/usr/local/bin PWD=/srv/app OLDPWD=/srv`,
	`export GITHUB_TOKEN=$(gh auth token)`,
	"export API_KEY=`cat ~/.config/key`",
	`TOKEN="$TOKEN" PASSWORD=${DB_PASSWORD} SECRET=$1 ./deploy.sh`,
	`API_TOKEN= PASSWORD="" ./run.sh`,
	`SSH_KEY=~/.ssh/id_ed25519 TLS_KEY=certs/server.key GOOGLE_APPLICATION_CREDENTIALS=$HOME/keys/app.json ./up.sh`,
	`USE_TOKEN=true REQUIRE_PASSWORD=false PASSWORD_FILE=/run/secrets/db ./serve`,
	`PRIMARY_KEY=user_identifier PUBLIC_KEY=abcdefgh12345678 ./migrate`,
	`curl -fsSL https://example.org/install.sh | sh`,
	`curl -H "Authorization: Bearer $TOKEN" https://api.example.org/v1/me`,
	`curl -H "Authorization: Bearer ${GITHUB_TOKEN}" -H 'Accept: application/json' https://api.example.org`,
	`curl -X POST -d '{"name":"Ada","tokens":12}' http://localhost:8080/api/items`,
	`curl -u "$USER:$PASS" https://example.org`,
	`curl --cacert ca.pem --cert client.pem --key client.key https://example.org:8443/health`,
	`curl http://localhost:3000/@vite/client`,
	`grep -rn "Authorization: Bearer" src/`,
	`grep -rn "password" --include=*.go . | head -20`,
	`grep -rniE 'api[_-]?key|secret|token' src`,
	`grep -n 'BEGIN RSA PRIVATE KEY' -r .`,
	`grep -rl -- '-----BEGIN RSA PRIVATE KEY-----' . | wc -l`,
	`rg 'ghp_[A-Za-z0-9]{36}' --hidden`,
	`sed -n 's/^token: //p' config.yml`,
	`docker run --rm -u 1000:1000 -v "$PWD":/src -w /src golang:1.24 go test ./...`,
	`docker run -p 8080:80 -e LOG_LEVEL=debug nginx@sha256:b5b2b2c507a0944348e0303114d8d93aaaa081732b86451d9bce1f432a537bc7`,
	`docker build --secret id=npmrc,src=$HOME/.npmrc --build-arg VERSION=1.2.3 -t shop:dev .`,
	`docker login --password-stdin registry.example.org < token.txt`,
	`skopeo inspect docker://alpine:3.19@sha256:c5b1261d6d3e43071626931fc004f70149baeba2c8ec672bd4f27761f8e1ad6b`,
	`kubectl create configmap app --from-literal=LOG_LEVEL=debug`,
	`kubectl get secret db-credentials -o yaml`,
	`kubectl -n shop rollout restart deployment/token-service`,
	`terraform plan -var region=eu-central-1 -var-file=secret.tfvars`,
	`aws s3 cp s3://bucket/550e8400-e29b-41d4-a716-446655440000/report.csv .`,
	`aws sts assume-role --role-arn arn:aws:iam::123456789012:role/deploy --role-session-name ci`,
	`ls -la 550e8400-e29b-41d4-a716-446655440000 d41d8cd98f00b204e9800998ecf8427e`,
	`sha256sum dist/app-e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855.js`,
	`cat "aGVsbG8gd29ybGQgdGhpcyBpcyBhIGZpbGUgbmFtZQ==.txt"`,
	`cp build/QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKPbdG out/`,
	`tar -xzf node_modules/.cache/sk-learn-pipeline-refactoring-branch.tgz`,
	`ssh -i ~/.ssh/id_rsa deploy@10.0.0.5 'systemctl restart shop'`,
	`psql -h localhost -U shop -d shop -c 'select count(*) from tokens'`,
	`mysql -h 127.0.0.1 -P 3306 -u root -p shop < dump.sql`,
	`mysqldump --port 3307 --protocol tcp shop > dump.sql`,
	`redis-cli -h localhost ping`,
	`openssl x509 -in cert.pem -noout -text`,
	`openssl rsa -in key.pem -passin env:KEY_PASS -out plain.pem`,
	`keytool -list -keystore trust.jks`,
	`gh pr create --title "Token refresh" --body "Adds password=… to the docs"`,
	`gh secret list --repo acme/shop`,
	`gh api repos/acme/shop/actions/secrets --jq '.secrets[].name'`,
	`vault kv get -field=password secret/shop`,
	`echo "password: <your password>" >> docs/setup.md`,
	`printf 'USER=bob\nMODE=dev\n' > .env`,
	`test -n "$API_KEY" || echo "API_KEY is not set"`,
	`if [ "$PASSWORD" = "$CONFIRM" ]; then echo same; fi`,
	`const token = await getToken(); fetch(url, { headers: { Authorization: 'Bearer ' + token } })`,
	"fetch(url, {headers: {Authorization: `Bearer ${token}`}})",
	"cat > types.ts <<'EOF'\ninterface Login {\n  user: string;\n  password: string;\n  token?: Token;\n}\nEOF",
	"cat > auth.py <<'EOF'\ndef login(user, password=None):\n    token = make_token(user)\n    return token == expected\nEOF",
	"git commit -F - <<'EOF'\ntoken: handle expiry of the session\n\npassword: no longer asked for twice\nEOF",
	"cat > c.go <<'EOF'\n\tc := Config{\n\t\tPrivateKey: testKey,\n\t\tToken: &token,\n\t}\nEOF",
	`find . -name '*.key' -o -name '*token*' -not -path './node_modules/*'`,
	`jq '.token' response.json`,
	`uuidgen; date +%s; openssl rand -hex 32`,
	`ffmpeg -i in.mp4 -pass 1 -f null /dev/null`,
	`hugo --baseURL https://example.org/ && rsync -av public/ web@example.org:/srv/www`,
	`helm upgrade --install shop ./chart --set image.tag=8c1f2ab --set replicas=3`,
}

// Requirement S4.
func TestOrdinary_commands_are_shown_as_they_are(t *testing.T) {
	t.Parallel()
	if len(ordinary) < 40 {
		t.Fatalf("only %d commands", len(ordinary))
	}
	for _, line := range ordinary {
		if got := redact.Shown(line, long, nil); got != line {
			t.Errorf("%s\nis shown as\n%s", line, got)
		}
	}
}

// alphabets of secrets.
const (
	letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	digits  = "0123456789"
	alnum   = letters + digits
	lowhex  = "0123456789abcdef"
)

// drawn makes a random word, with a letter and a digit in it.
func drawn(r *rand.Rand, alphabet string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[r.IntN(len(alphabet))]
	}
	if alphabet == alnum || alphabet == lowhex {
		b[n/2], b[n/2-1] = '7', 'f'
	}
	return string(b)
}

// shapes make secrets by their form; a place for them is not needed.
var shapes = map[string]func(r *rand.Rand) string{
	"GitHub token":    func(r *rand.Rand) string { return "ghp_" + drawn(r, alnum, 36) },
	"GitHub token 2":  func(r *rand.Rand) string { return "github_pat_" + drawn(r, alnum, 22) + "_" + drawn(r, alnum, 59) },
	"GitLab token":    func(r *rand.Rand) string { return "glpat-" + drawn(r, alnum, 20) },
	"AWS access key":  func(r *rand.Rand) string { return "AKIA" + drawn(r, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16) },
	"Google key":      func(r *rand.Rand) string { return "AIza" + drawn(r, alnum+"_-", 35) },
	"Anthropic key":   func(r *rand.Rand) string { return "sk-ant-api03-" + drawn(r, alnum+"_-", 93) + "AA" },
	"OpenAI key":      func(r *rand.Rand) string { return "sk-proj-" + drawn(r, alnum+"_-", 100) },
	"model key":       func(r *rand.Rand) string { return "sk-" + drawn(r, alnum, 48) },
	"Hugging Face":    func(r *rand.Rand) string { return "hf_" + drawn(r, alnum, 34) },
	"npm token":       func(r *rand.Rand) string { return "npm_" + drawn(r, alnum, 36) },
	"PyPI token":      func(r *rand.Rand) string { return "pypi-AgEIcHlwaS5vcmc" + drawn(r, alnum, 80) },
	"Slack token":     func(r *rand.Rand) string { return "xoxb-" + drawn(r, digits, 12) + "-" + drawn(r, alnum, 24) },
	"Stripe key":      func(r *rand.Rand) string { return "sk_live_" + drawn(r, alnum, 24) },
	"SendGrid key":    func(r *rand.Rand) string { return "SG." + drawn(r, alnum, 22) + "." + drawn(r, alnum, 43) },
	"Vault token":     func(r *rand.Rand) string { return "hvs." + drawn(r, alnum, 90) },
	"Docker token":    func(r *rand.Rand) string { return "dckr_pat_" + drawn(r, alnum, 27) },
	"DigitalOcean":    func(r *rand.Rand) string { return "dop_v1_" + drawn(r, lowhex, 64) },
	"Databricks":      func(r *rand.Rand) string { return "dapi" + drawn(r, lowhex, 32) },
	"JWT":             jwt,
	"private key":     pem,
	"private key cut": func(r *rand.Rand) string { return strings.TrimSuffix(pem(r), "-----END RSA PRIVATE KEY-----") },
	"private key esc": func(r *rand.Rand) string { return strings.ReplaceAll(pem(r), "\n", `\n`) },
}

func jwt(r *rand.Rand) string {
	part := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	return part(`{"alg":"HS256","typ":"JWT"}`) + "." + part(`{"sub":"`+drawn(r, alnum, 12)+`"}`) + "." + drawn(r, alnum, 43)
}

func pem(r *rand.Rand) string {
	var b strings.Builder
	b.WriteString("-----BEGIN RSA PRIVATE KEY-----\n")
	for range 6 {
		b.WriteString(drawn(r, alnum+"+/", 64) + "\n")
	}
	return b.String() + "-----END RSA PRIVATE KEY-----"
}

// shapely are commands that a secret with a form stands in anywhere.
var shapely = []string{
	`echo %s`, `printf 'a\n%s\n' > k`, `echo '%s' > key.txt`, `X="%s" run`, `tool --flag=%s next`, `curl -H "X: %s" https://example.org`, "cat > .env <<'EOF'\nA=%s\nEOF", `printf "%s\n" | tool login`,
	`git clone https://%s@github.com/acme/shop.git`, `node -e 'run("%s")'`, `["sh","%s"]`, `a=%s;b=1`, `https://example.org/?key=%s&x=1`,
}

// places are commands in which anything is a secret; value says of which
// characters it may be.
var secretPlaces = []struct{ line, value string }{
	{`curl -H "Authorization: Bearer %s" https://example.org`, alnum + "._~+/="},
	{`curl -H 'Authorization: Basic %s' https://example.org`, alnum + "+/="},
	{`curl -H 'Authorization: Digest username="u", response="%s"' https://example.org`, lowhex},
	{`curl -H Authorization:\ %s https://example.org`, alnum},
	{`http example.org Authorization:%s a=b`, alnum},
	{`fetch(u, {headers: {"Authorization": "Token %s"}})`, alnum},
	{`curl -H "X-Api-Key: %s" https://example.org`, alnum + "!#%"},
	{`curl --header 'PRIVATE-TOKEN: %s' https://git.example.org`, alnum + "-_"},
	{`curl -b x -H "Cookie: session=%s; a=b" https://example.org`, alnum},
	{`curl -u ada:%s https://example.org`, alnum + "!.,-_"},
	{`curl -s -u 'ada:%s' https://example.org`, alnum + " !$&"},
	{`curl "https://example.org/?access_token=%s&page=2"`, alnum + "-_"},
	{`curl -d 'user=ada&password=%s' https://example.org`, alnum + "!.%"},
	{`curl -d '{"user":"ada","password":"%s"}' https://example.org`, alnum + " !&'$#"},
	{`curl -d "{\"password\":\"%s\"}" https://example.org`, alnum + " !&#"},
	{`curl -d '{"apiKey": "%s", "x": 1}' https://example.org`, alnum},
	{`tool --password %s --verbose`, alnum + "!.,:@%^*-_+"},
	{`tool --password=%s --verbose`, alnum + "!.,:@%^*-_+"},
	{`tool --password='%s' next`, alnum + ` !"&|;<>()$`},
	{`tool --password "%s" next`, alnum + ` !'&|;<>()`},
	{`tool '--password=%s' next`, alnum + " !&;"},
	{`tool --db-password %s`, alnum},
	{`tool --token %s`, alnum + "-_."},
	{`tool --client-secret=%s x`, alnum + "~.-_"},
	{`tool --api-key %s x`, alnum + "-_"},
	{`PASSWORD=%s make`, alnum + "!.,:@%^*-_+/"},
	{`export DB_PASSWORD='%s'`, alnum + ` !"&|;<>()$\`},
	{`export DB_PASSWORD="%s"; run`, alnum + " !'&|;<>()"},
	{`PASSWORD=ab"%s"cd run`, alnum + " "},
	{`NPM_TOKEN=%s npm publish`, alnum + "-_"},
	{`STRIPE_SECRET_KEY=%s node app.js`, alnum + "_"},
	{`AWS_SECRET_ACCESS_KEY=%s aws s3 ls`, alnum + "+/"},
	{`APP_SECRET=%s run`, alnum + "+/="},
	{`MYSQL_PWD=%s mysql shop`, alnum},
	{`DB_PASS=%s run`, alnum},
	{`bash -c "TOKEN=%s make all"`, alnum},
	{`sh -c 'export TOKEN=%s && make'`, alnum},
	{`docker run -e "DB_PASSWORD=%s" postgres`, alnum + " !"},
	{`docker run -e POSTGRES_PASSWORD=%s postgres`, alnum},
	{`docker build --build-arg=NPM_TOKEN=%s .`, alnum},
	{`docker login -u ada -p %s registry.example.org`, alnum},
	{`echo %s | docker login -u ada --password-stdin`, alnum},
	{`echo "%s" | docker login -u ada --password-stdin`, alnum + " !"},
	{`mysql -u root -p%s shop`, alnum + "!."},
	{`mysql -u root -p'%s' shop`, alnum + " !&"},
	{`sshpass -p '%s' ssh host`, alnum + " !"},
	{`sshpass -p %s ssh host`, alnum},
	{`redis-cli -h x -a %s ping`, alnum},
	{`openssl rsa -in k -passin pass:%s`, alnum},
	{`keytool -storepass %s -list`, alnum},
	{`psql postgres://shop:%s@localhost/shop`, alnum + "!.%$"},
	{`git clone "https://ada:%s@git.example.org/x.git"`, alnum + "@!"},
	{`DATABASE_URL=mysql://u:%s@db:3306/x run`, alnum},
	{`gh secret set NAME --body "%s"`, alnum + " "},
	{`gh secret set NAME -b %s`, alnum},
	{`kubectl create secret generic db --from-literal=a=%s`, alnum},
	{`fly secrets set NAME=%s`, alnum},
	{`aws configure set aws_secret_access_key %s`, alnum + "+/"},
	{`npm config set //registry.example.org/:_authToken %s`, alnum},
	{`echo '//registry.example.org/:_authToken=%s' > .npmrc`, alnum},
	{`set -gx API_TOKEN %s`, alnum},
	{`printf 'USER=a\nDB_PASSWORD=%s\nMODE=b\n' > .env`, alnum},
	{"cat > .env <<'EOF'\nUSER=a\nSECRET_KEY=%s\nEOF", alnum},
	{"cat > c.yml <<'EOF'\ndb:\n  password: %s\n  host: x\nEOF", alnum + "!."},
	{"cat > c.yml <<'EOF'\ndb:\n  password: \"%s\"\nEOF", alnum + " !&"},
	{"cat > c.py <<'EOF'\nAPI_KEY = \"%s\"\nEOF", alnum + " "},
	{"cat > c.go <<'EOF'\n\ttoken := \"%s\"\nEOF", alnum},
	{`python -c 'login(password="%s")'`, alnum + " !"},
	{`run ${DB_PASSWORD:-%s}`, alnum},
	{`az storage blob list --connection-string "AccountName=x;AccountKey=%s;EndpointSuffix=y"`, alnum + "+/="},
	{`curl "https://x.blob.example.net/c?sv=2020&sig=%s"`, alnum + "%"},
}

// found reports whether a part of a secret that could be used is in a text.
func found(text, secret string) bool {
	for i := 0; i+6 <= len(secret); i += 3 {
		if part := secret[i : i+6]; strings.Contains(text, part) {
			return true
		}
	}
	return strings.Contains(text, secret)
}

// TestWhat_looks_like_a_secret_is_left_out puts random secrets of every form
// into every place.
//
// Requirement S4.
func TestWhat_looks_like_a_secret_is_left_out(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		check := func(line, secret, inside string) {
			t.Helper()
			got := redact.Shown(line, long, nil)
			if found(got, inside) || !strings.Contains(got, "[redacted: ") {
				t.Errorf("seed %d: %q\nis shown as\n%q", seed, line, got)
			}
		}
		for kind, shape := range shapes {
			for _, line := range shapely {
				secret := shape(r)
				inside := secret
				if strings.HasPrefix(kind, "private key") { // the armour may be seen
					if strings.Contains(line, "github.com") {
						continue // no URL holds lines
					}
					inside = strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(secret, "-----BEGIN RSA PRIVATE KEY-----"), `\n`))
					inside = strings.TrimSuffix(strings.TrimSuffix(inside, "-----END RSA PRIVATE KEY-----"), `\n`)
				}
				if kind == "GitHub token 2" {
					inside = strings.TrimPrefix(secret, "github_pat_")
				}
				if kind == "JWT" { // its header is no secret
					_, inside, _ = strings.Cut(secret, ".")
				}
				check(fmt.Sprintf(line, secret), secret, inside)
			}
		}
		for _, p := range secretPlaces {
			secret := "k" + drawn(r, p.value, 8+r.IntN(24)) + "7fQz"
			check(fmt.Sprintf(p.line, secret), secret, secret)
		}
	}
}

// TestWhat_is_left_of_a_command_is_still_told shows that no more than the
// secret is gone.
//
// Requirement S4.
func TestWhat_is_left_of_a_command_is_still_told(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		`GITHUB_TOKEN=ghp_` + strings.Repeat("a1B2", 9) + ` gh pr list`:                                `GITHUB_TOKEN=[redacted: GitHub token] gh pr list`,
		`curl -H "Authorization: Bearer abcdef0123456789" https://example.org`:                         `curl -H "Authorization: Bearer [redacted: authorization]" https://example.org`,
		`tool --password hunter2 --verbose && make test`:                                               `tool --password [redacted: password] --verbose && make test`,
		`DB_PASSWORD='a b c' ./migrate up`:                                                             `DB_PASSWORD='[redacted: password]' ./migrate up`,
		`psql postgres://shop:hunter2@db.example.org/shop -c 'select 1'`:                               `psql postgres://shop:[redacted: password]@db.example.org/shop -c 'select 1'`,
		`bash -c "TOKEN=abcdef make all"`:                                                              `bash -c "TOKEN=[redacted: token] make all"`,
		`printf 'USER=a\nDB_PASSWORD=hunter2\nMODE=b\n' > .env`:                                        `printf 'USER=a\nDB_PASSWORD=[redacted: password]\nMODE=b\n' > .env`,
		`curl -d '{"user":"ada","password":"hun ter2"}' x`:                                             `curl -d '{"user":"ada","password":"[redacted: password]"}' x`,
		`STRIPE_KEY=abcdefgh node app.js; git push`:                                                    `STRIPE_KEY=[redacted: key] node app.js; git push`,
		"cat > k <<'EOF'\n" + pem(rand.New(rand.NewPCG(1, 1))) + "\nEOF\nchmod 600 k":                  "cat > k <<'EOF'\n[redacted: private key]\nEOF\nchmod 600 k",
		`echo hunter2 | docker login -u ada --password-stdin && docker push x`:                         `echo [redacted: password] | docker login -u ada --password-stdin && docker push x`,
		`PASSWORD=one API_TOKEN=two2two2 SECRET=three run --token four4four`:                           `PASSWORD=[redacted: password] API_TOKEN=[redacted: token] SECRET=[redacted: secret] run --token [redacted: token]`,
		`curl "https://example.org/?access_token=abc123abc&page=2"`:                                    `curl "https://example.org/?access_token=[redacted: token]&page=2"`,
		`TOKEN=[redacted] run`:                                                                         `TOKEN=[redacted] run`,
		`AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG aws s3 ls`: `AWS_ACCESS_KEY_ID=[redacted: AWS access key] AWS_SECRET_ACCESS_KEY=[redacted: key] aws s3 ls`,
	} {
		if got := redact.Shown(line, long, nil); got != want {
			t.Errorf("%s\nis shown as\n%s\nand not as\n%s", line, got, want)
		}
		// What was shown once is shown the same way.
		if got := redact.Shown(want, long, nil); got != want {
			t.Errorf("%s\nbecomes\n%s", want, got)
		}
	}
}

// TestA_secret_is_left_out_before_a_text_is_cut leaves no half of one behind.
//
// Requirement S4.
func TestA_secret_is_left_out_before_a_text_is_cut(t *testing.T) {
	t.Parallel()
	secret := "ghp_" + strings.Repeat("x7Y8", 9)
	known := "correct horse " + hex.EncodeToString([]byte("battery"))
	hide := func(text string) string { return strings.ReplaceAll(text, known, "[redacted]") }
	for fill := range 400 {
		for _, word := range []string{"a", "a b "} {
			line := strings.Repeat(word, fill)[:fill] + " " + secret + " " + known
			for _, most := range []int{40, 300} {
				got := redact.Shown(line, most, hide)
				if found(got, secret) || found(got, known) || len(got) > most+len("…") {
					t.Fatalf("cut at %d after %d: %q", most, fill, got)
				}
			}
		}
	}
	for fill := 4<<10 - 60; fill < 4<<10+60; fill++ {
		line := "-----BEGIN PRIVATE KEY-----\n" + strings.Repeat("A", fill) + "\n" + secret
		if got := redact.Shown(line, 300, nil); found(got, secret) || found(got, "AAAAAAAA") {
			t.Fatalf("after %d: %q", fill, got)
		}
		line = strings.Repeat(pem(rand.New(rand.NewPCG(2, 2)))+"\n", 40)[:fill] + " " + secret
		if got := redact.Shown(line, 300, nil); found(got, secret) {
			t.Fatalf("after %d: %q", fill, got)
		}
	}
}

func FuzzShown(f *testing.F) {
	for _, line := range ordinary {
		f.Add(line)
	}
	for _, p := range secretPlaces {
		f.Add(fmt.Sprintf(p.line, "hunter2hunter2"))
	}
	f.Fuzz(func(t *testing.T, text string) {
		once := redact.Shown(text, long, nil)
		if len(once) > long+len("…") {
			t.Errorf("%d bytes", len(once))
		}
	})
}

// TestEvery_known_token_is_found holds an example of each service against the
// form that is to find it. They are put together here so that no file holds one.
//
// Requirement S4.
func TestEvery_known_token_is_found(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 3))
	a, h, d := func(n int) string { return drawn(r, alnum, n) }, func(n int) string { return drawn(r, lowhex, n) }, func(n int) string { return drawn(r, digits, n) }
	for want, made := range map[string][]string{
		"GitHub token":       {"gho_" + a(36), "ghu_" + a(36), "ghs_" + a(36), "ghr_" + a(36)},
		"GitLab token":       {"gldt-" + a(20), "glrt-" + a(20), "glptt-" + a(40), "GR1348941" + a(20)},
		"Bitbucket token":    {"ATBB" + a(32)},
		"Atlassian token":    {"ATATT3" + a(180), "ATCTT3" + a(60)},
		"AWS access key":     {"ASIA" + drawn(r, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16)},
		"Google key":         {"ya29." + a(60), "GOCSPX-" + a(28), "1//0" + a(40)},
		"Azure secret":       {a(3) + "8Q~" + a(34)},
		"Alibaba Cloud key":  {"LTAI" + a(20)},
		"DigitalOcean token": {"doo_v1_" + h(64)},
		"Heroku token":       {"HRKU-" + a(36)},
		"OpenRouter key":     {"sk-or-v1-" + h(64)},
		"OpenAI key":         {"sk-svcacct-" + a(60), "sk-" + a(20) + "T3Blbk" + "FJ" + a(20)},
		"model key":          {"xai-" + a(80), "gsk_" + a(52), "pplx-" + a(48), "nvapi-" + a(64), "csk-" + h(48), "r8_" + a(37), "lsv2_pt_" + h(32) + "_" + h(10)},
		"Hugging Face token": {"hf_" + a(34)},
		"RubyGems key":       {"rubygems_" + h(48)},
		"Docker token":       {"dckr_oat_" + a(32)},
		"Slack token":        {"xoxp-" + d(12) + "-" + a(24), "xapp-1-" + a(11) + "-" + d(13) + "-" + h(64)},
		"Slack webhook":      {"hooks.slack.com/services/T" + a(8) + "/B" + a(8) + "/" + a(24)},
		"Discord webhook":    {"discord.com/api/webhooks/" + d(18) + "/" + a(68)},
		"Telegram token":     {d(10) + ":AA" + a(33)},
		"Stripe key":         {"rk_live_" + a(24), "sk_test_" + a(24), "whsec_" + a(32)},
		"Twilio key":         {"SK" + h(32)},
		"Shopify token":      {"shpat_" + h(32)},
		"Grafana token":      {"glsa_" + a(32) + "_" + h(8), "glc_" + a(60)},
		"New Relic key":      {"NRAK-" + drawn(r, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", 27)},
		"Sentry token":       {"sntrys_" + a(80)},
		"Linear key":         {"lin_api_" + a(40)},
		"Notion token":       {"ntn_" + a(46)},
		"Netlify token":      {"nfp_" + a(36)},
		"Supabase key":       {"sbp_" + h(40), "sb_secret_" + a(31)},
		"PlanetScale token":  {"pscale_tkn_" + a(43)},
		"Doppler token":      {"dp.pt." + a(43)},
		"Vault token":        {"hvb." + a(90)},
		"Terraform token":    {a(14) + ".atlasv1." + a(67)},
		"Postman key":        {"PMAK-" + h(24) + "-" + h(34)},
		"age key":            {"AGE-SECRET-KEY-1" + drawn(r, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", 58)},
	} {
		for _, secret := range made {
			if got := redact.Shown("run "+secret+" x", long, nil); got != "run [redacted: "+want+"] x" {
				t.Errorf("%s is shown as %s", want, got)
			}
		}
	}
}
