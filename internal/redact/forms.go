package redact

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// Of a text that is shown, no more than this is looked at: the longest command line
// that is read of a transcript.
const maxHide = 64 << 10

// Shown gives a text of a transcript as it may be shown or told to an agent: what
// known finds and what looks like a secret is left out, then it is cut to most
// bytes. known takes out values that are known to be secret; nil stands for none.
//
// Secrets that are not known are found by their form: tokens of well-known services,
// private keys, headers that authorize, passwords in URLs, and what is given to an
// option or a variable whose name says that it is secret. Each is replaced by a
// mark that says what it was. A secret that has no form, in a place that has no
// name, is not found.
func Shown(text string, most int, known func(string) string) string {
	if known != nil {
		text = known(text) // before anything is cut: half of a value is not known
	}
	if len(text) > maxHide {
		// A word that is cut in two no longer has a form.
		end := strings.LastIndexFunc(text[:maxHide], unicode.IsSpace)
		text = text[:max(end, 0)] + " …"
	}
	text = Text(text)
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// form is a regular expression that is compiled when it is first needed: most
// commands show nothing of a transcript.
type form func() *regexp.Regexp

func lazily(expr string) form {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

func mark(kind string) string { return "[redacted: " + kind + "]" }

func hideURLs(text string) string {
	text = replace(text, inURL, func(value, after string) string {
		if stands(value) || strings.HasPrefix(after, "@sha256:") { // the digest of an image
			return value
		}
		return mark("password")
	})
	return replace(text, userURL, func(value, _ string) string {
		if !mixed(value) {
			return value
		}
		return mark("token")
	})
}

func hidePiped(text string) string {
	return replace(text, piped, func(value, _ string) string {
		if stands(value) || strings.ContainsAny(value, "$`") {
			return value
		}
		return mark("password")
	})
}

// token is the form of the tokens of one service. The first group is what stands
// before it, the second the token. A text with none of the hints, separated by
// spaces, has none: most have not, and need not be searched. There are at most 64.
type token struct {
	kind  string
	hints []string
	form  form
	cut   form // what is left of one whose end was cut off, and says so
}

func tokenOf(kind, hints, form string) token {
	t := token{kind: kind, hints: strings.Fields(hints), form: lazily(`(^|[^A-Za-z0-9_]|\\[nrt])(` + form + `)`)}
	var begins []string
	for _, hint := range t.hints {
		if len(hint) > 2 {
			begins = append(begins, regexp.QuoteMeta(hint))
		}
	}
	if len(begins) > 0 {
		t.cut = lazily(`(^|[^A-Za-z0-9_]|\\[nrt])((?:` + strings.Join(begins, "|") + `)[A-Za-z0-9_.+/=~-]{3,}…)`)
	}
	return t
}

// tokens are forms that nothing but a token has.
var tokens = sync.OnceValue(func() []token {
	return []token{
		tokenOf("JWT", "eyJ", `eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}`),
		tokenOf("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", `gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}`),
		tokenOf("GitLab token", "glpat- gldt- glrt- glptt- glft- glsoat- glcbt- glimt- glagent- gloas- glffct- GR1348941", `gl(?:pat|dt|rt|ptt|ft|soat|cbt|imt|agent|oas|ffct)-[A-Za-z0-9_.-]{16,}|GR1348941[A-Za-z0-9_-]{16,}`),
		tokenOf("Bitbucket token", "ATBB", `ATBB[A-Za-z0-9]{24,}`),
		tokenOf("Atlassian token", "ATATT3 ATCTT3", `AT[AC]TT3[A-Za-z0-9_=-]{20,}`),
		tokenOf("AWS access key", "AKIA ASIA ABIA ACCA", `(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b`),
		tokenOf("Google key", "AIza ya29. GOCSPX- 1//0", `AIza[A-Za-z0-9_-]{35}|ya29\.[A-Za-z0-9_-]{20,}|GOCSPX-[A-Za-z0-9_-]{20,}|1//0[A-Za-z0-9_-]{30,}`),
		tokenOf("Azure secret", "7Q~ 8Q~", `[A-Za-z0-9_~.-]{3}[78]Q~[A-Za-z0-9_~.-]{31,34}`),
		tokenOf("Alibaba Cloud key", "LTAI", `LTAI[A-Za-z0-9]{16,24}\b`),
		tokenOf("DigitalOcean token", "_v1_", `do[oprt]_v1_[a-f0-9]{40,}`),
		tokenOf("Heroku token", "HRKU-", `HRKU-[A-Za-z0-9_-]{30,}`),
		tokenOf("Anthropic key", "sk-ant-", `sk-ant-[A-Za-z0-9_-]{16,}`),
		tokenOf("OpenRouter key", "sk-or-", `sk-or-v1-[A-Za-z0-9]{20,}`),
		tokenOf("OpenAI key", "sk-", `sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,}|sk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}`),
		tokenOf("model key", "sk- xai- gsk_ pplx- nvapi- r8_ lsv2_", `sk-[A-Za-z0-9]{32,}|xai-[A-Za-z0-9]{40,}|gsk_[A-Za-z0-9]{30,}|pplx-[A-Za-z0-9]{32,}|nvapi-[A-Za-z0-9_-]{40,}|csk-[a-z0-9]{40,}|r8_[A-Za-z0-9]{30,}|lsv2_(?:pt|sk)_[A-Za-z0-9_]{30,}`),
		tokenOf("Hugging Face token", "hf_", `hf_[A-Za-z0-9]{30,}`),
		tokenOf("npm token", "npm_", `npm_[A-Za-z0-9]{36,}`),
		tokenOf("PyPI token", "pypi-", `pypi-[A-Za-z0-9_-]{50,}`),
		tokenOf("RubyGems key", "rubygems_", `rubygems_[a-f0-9]{48}`),
		tokenOf("Docker token", "dckr_", `dckr_[po]at_[A-Za-z0-9_-]{20,}`),
		tokenOf("Slack token", "xox xapp-", `xox[abceoprs]-[A-Za-z0-9-]{10,}|xapp-[0-9]-[A-Za-z0-9-]{20,}`),
		tokenOf("Slack webhook", "hooks.slack.com", `hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/]{20,}`),
		tokenOf("Discord webhook", "/api/webhooks/", `discord(?:app)?\.com/api/webhooks/[0-9]+/[A-Za-z0-9_-]{20,}`),
		tokenOf("Telegram token", ":AA", `[0-9]{8,10}:AA[A-Za-z0-9_-]{33}`),
		tokenOf("Stripe key", "k_live_ k_test_ whsec_", `[spr]k_(?:live|test)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9+/=]{20,}`),
		tokenOf("SendGrid key", "SG.", `SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}`),
		tokenOf("Twilio key", "SK", `SK[0-9a-f]{32}\b`),
		tokenOf("Shopify token", "shp", `shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}`),
		tokenOf("Databricks token", "dapi", `dapi[a-f0-9]{32}\b`),
		tokenOf("Grafana token", "glsa_ glc_", `glsa_[A-Za-z0-9]{32}_[a-f0-9]{8}|glc_[A-Za-z0-9+/=]{32,}`),
		tokenOf("New Relic key", "NRAK-", `NRAK-[A-Z0-9]{27}`),
		tokenOf("Sentry token", "sntry", `sntry[us]_[A-Za-z0-9+/=_-]{40,}`),
		tokenOf("Linear key", "lin_api_", `lin_api_[A-Za-z0-9]{32,}`),
		tokenOf("Notion token", "ntn_", `ntn_[A-Za-z0-9]{40,}`),
		tokenOf("Netlify token", "nfp_", `nfp_[A-Za-z0-9]{36,}`),
		tokenOf("Supabase key", "sbp_ sb_secret_", `sbp_[a-f0-9]{40}|sb_secret_[A-Za-z0-9_-]{20,}`),
		tokenOf("PlanetScale token", "pscale_", `pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{32,}`),
		tokenOf("Doppler token", "dp.", `dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9_.-]{40,}`),
		tokenOf("Vault token", "hvs. hvb. hvr.", `hv[sbr]\.[A-Za-z0-9_-]{20,}`),
		tokenOf("Terraform token", ".atlasv1.", `[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}`),
		tokenOf("Postman key", "PMAK-", `PMAK-[a-f0-9]{24}-[a-f0-9]{34}`),
		tokenOf("Discord token", "MT Mj Mz ND NT Nj Nz OD OT", `[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}`),
		tokenOf("Mailgun key", "key-", `key-[a-f0-9]{32}\b`),
		tokenOf("Mailchimp key", "-us", `[a-f0-9]{32}-us[0-9]{1,2}\b`),
		tokenOf("Square token", "sq0 EAAA", `sq0[a-z]{3}-[A-Za-z0-9_-]{20,}|EAAA[A-Za-z0-9_-]{60}`),
		tokenOf("Figma token", "figd_", `figd_[A-Za-z0-9_-]{30,}`),
		tokenOf("Airtable token", "pat", `pat[A-Za-z0-9]{14}\.[a-f0-9]{64}`),
		tokenOf("HubSpot token", "pat-", `pat-(?:na|eu)[0-9]-[a-f0-9-]{36}`),
		tokenOf("Fly token", "fm1r_ fm2_ fo1_", `(?:fm1r|fm2|fo1)_[A-Za-z0-9+/=_-]{40,}`),
		tokenOf("Pulumi token", "pul-", `pul-[a-f0-9]{40}`),
		tokenOf("age key", "AGE-SECRET-KEY-", `AGE-SECRET-KEY-1[0-9A-Z]{50,}`),
	}
})

// inURL is a password in a URL, userURL a name in one that may be a token, piped
// what a program is given that reads a secret from its input.
var (
	piped   = lazily(`(\b(?:echo|printf)\s+(?:-n\s+)?(?:["']?%s(?:\\n)?["']?\s+)?)("[^"]*"|'[^']*'|[^\s|;&"']+)\s*\|[^|;&\n]*\s--(?:password-stdin|with-token|token-stdin)`)
	inURL   = lazily(`([A-Za-z][A-Za-z0-9+.-]*://[^\s/@:"'` + "`" + `]*:)([^\s/"'` + "`" + `]+)@`)
	userURL = lazily(`(https?://)([A-Za-z0-9_-]{20,})@`)
)

// mixed reports whether a word has letters and digits, as tokens do and names
// seldom.
func mixed(s string) bool {
	return strings.ContainsAny(s, "0123456789") && strings.ContainsFunc(s, unicode.IsLetter)
}

// replace replaces the second group of a form; by is given what it is and what
// comes after it.
func replace(text string, f form, by func(value, after string) string) string {
	var out strings.Builder
	at := 0
	for _, m := range f().FindAllStringSubmatchIndex(text, -1) {
		out.WriteString(text[at:m[4]])
		out.WriteString(by(text[m[4]:m[5]], text[m[5]:]))
		at = m[5]
	}
	out.WriteString(text[at:])
	return out.String()
}
