"""The secrets that any text may hold, whichever providers are installed: a table, no code.

A provider adds shapes of its own by declaring them; these are here because a token of a provider
that nobody connected leaks just as well. Prefixes are the issuers' published ones; lengths are
theirs or, where they vary, the shortest known.
"""

from typing import Final

from styx_core.secret_shape import SecretShape as Shape

CLOUDS: Final = (
    Shape("aws-key-id", ("AKIA", "ASIA"), "upper", 16),
    Shape("aws-session-token", ("IQoJb3JpZ2lu", "FwoGZXIvYXdz", "FQoGZXIvYXdz"), "base64", 60),
    Shape("aws-bedrock", ("ABSK",), "base64", 60),
    Shape("aws-bedrock", ("bedrock-api-key-",), "base64", 40),
    Shape("gcp-access", ("ya29.",), "dotted", 20),
    Shape("gcp-client-secret", ("GOCSPX-",), "urlsafe", 20),
    Shape("gcp-refresh", ("1//0",), "urlsafe", 30, starts_word=True),
    Shape("gcp-api-key", ("AIza",), "urlsafe", 30),
    Shape("gcp-hmac", ("GOOG1",), "upper", 20),
    Shape("azure-client-secret", ("8Q~", "7Q~"), "dotted", 30),
    Shape("digitalocean", ("dop_v1_", "doo_v1_", "dor_v1_"), "hex", 40),
    Shape("alibaba", ("LTAI",), "base62", 16, starts_word=True),
    Shape("heroku", ("HRKU-",), "urlsafe", 30),
    Shape("fly", ("fm1_", "fm2_", "fo1_"), "base64", 30),
    Shape("planetscale", ("pscale_tkn_", "pscale_pw_", "pscale_oauth_"), "dotted", 20),
    Shape("databricks", ("dapi",), "hex", 32),
    Shape("terraform", (".atlasv1.",), "urlsafe", 40),
    Shape("pulumi", ("pul-",), "hex", 40, starts_word=True),
    Shape("tailscale", ("tskey-",), "urlsafe", 16),
    Shape("supabase", ("sbp_oauth_", "sbp_"), "hex", 40),
    Shape("supabase", ("sb_secret_",), "urlsafe", 20),
    Shape("vercel", ("vcp_", "vci_", "vca_", "vcr_", "vck_"), "base62", 24),
    Shape("vercel-blob", ("vercel_blob_rw_",), "word", 20),
    Shape("netlify", ("nfp_", "nfc_", "nfo_", "nfu_", "nfb_"), "base62", 30),
)

CODE: Final = (
    Shape("github", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), "dotted", 30),
    Shape("github-fine", ("github_pat_",), "word", 40),
    Shape(
        "gitlab",
        (
            *("glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glsoat-", "gloas-"),
            *("glagent-", "glimt-", "glffct-", "glwt-", "glrtr-"),
        ),
        "dotted",
        18,
    ),
    Shape("gitlab-runner", ("GR1348941",), "urlsafe", 18),
    Shape("npm", ("npm_",), "base62", 30),
    Shape("pypi", ("pypi-AgE",), "urlsafe", 40),
    Shape("rubygems", ("rubygems_",), "hex", 40),
    Shape("clojars", ("CLOJARS_",), "base62", 40),
    Shape("docker", ("dckr_pat_", "dckr_oat_"), "urlsafe", 20),
    Shape("sourcegraph", ("sgp_",), "word", 40),
    Shape("sentry", ("sntrys_", "sntryu_"), "base64", 40),
    Shape("atlassian", ("ATATT3", "ATCTT3", "ATBB"), "base64", 24),
    Shape("linear", ("lin_api_", "lin_oauth_"), "base62", 30),
    Shape("notion", ("ntn_", "secret_"), "base62", 40),
    Shape("figma", ("figd_", "figo_"), "urlsafe", 30),
    Shape("postman", ("PMAK-",), "urlsafe", 40),
    Shape("grafana", ("glsa_", "glc_"), "base64", 32),
    Shape("new-relic", ("NRAK-",), "upper", 24),
)

STYX: Final = ("tsk", "own", "adm", "per", "key", "inv", "web", "non", "oac", "oat", "ort")
CUSTODY: Final = (
    Shape(
        "styx",
        tuple(f"styx_{kind}_" for kind in STYX),
        "urlsafe",
        40,
    ),
    Shape("vault", ("hvs.", "hvb.", "hvr."), "urlsafe", 20),
    Shape("vault-legacy", ("s.", "r."), "base62", 24, starts_word=True),
    Shape("vault-legacy-batch", ("b.",), "urlsafe", 80, starts_word=True),
    Shape("onepassword", ("ops_",), "base64", 100),
    Shape(
        "doppler",
        ("dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."),
        "dotted",
        30,
    ),
    Shape("age", ("AGE-SECRET-KEY-1",), "upper", 50),
)

SERVICES: Final = (
    Shape("anthropic", ("sk-ant-",), "urlsafe", 30),
    Shape("openai", ("sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-"), "urlsafe", 30),
    Shape("openrouter", ("sk-or-",), "urlsafe", 30),
    Shape("openai", ("sk-",), "base62", 32, starts_word=True),
    Shape("hugging-face", ("hf_",), "base62", 28, starts_word=True),
    Shape("groq", ("gsk_",), "base62", 40),
    Shape("replicate", ("r8_",), "base62", 30, starts_word=True),
    Shape("xai", ("xai-",), "base62", 40, starts_word=True),
    Shape("perplexity", ("pplx-",), "base62", 40),
    Shape("slack", ("xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-"), "dotted", 20),
    Shape("slack", ("xoxe.xox", "xapp-", "xwfp-"), "dotted", 20),
    Shape("slack-hook", ("hooks.slack.com/services/T",), "base64", 20),
    Shape(
        "slack-hook", ("hooks.slack.com/workflows/T", "hooks.slack.com/triggers/T"), "base64", 20
    ),
    Shape("stripe", ("sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_"), "base62", 16),
    Shape("sendgrid", ("SG.",), "dotted", 40, starts_word=True),
    Shape("twilio", ("SK",), "hex", 32, starts_word=True),
    Shape("mailgun", ("key-",), "hex", 32, starts_word=True),
    Shape("shopify", ("shpat_", "shpca_", "shppa_", "shpss_"), "hex", 32),
    Shape("square", ("sq0atp-", "sq0csp-", "sq0idp-"), "urlsafe", 20),
    Shape("typeform", ("tfp_",), "urlsafe", 40),
)

COMMON: Final[tuple[Shape, ...]] = CLOUDS + CODE + CUSTODY + SERVICES
