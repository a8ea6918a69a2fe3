"""Suggestions from a repository's files: what hints at what, and that no file name gets a word in
that is not a plain identifier."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from styx_core.deploys import SAFE_ID, Deploy, Suggestion, suggestions

DECLARED = (
    ("vercel", (Deploy(("vercel", "deploy", "--prod"), "vercel.json"),)),
    (
        "supabase",
        (Deploy(("supabase", "functions", "deploy", "{folder}"), "supabase/functions/*/index.ts"),),
    ),
    ("github", (Deploy(("gh", "workflow", "run", "{name}"), ".github/workflows/*.yml"),)),
    ("gcp", (Deploy(("gcloud", "run", "deploy", "{folder}", "--source", "."), "Dockerfile"),)),
)


def commands(*files: str) -> list[str]:
    return [" ".join(each.command) for each in suggestions(DECLARED, files, "shop")]


@pytest.mark.parametrize(
    ("file", "command"),
    [
        ("vercel.json", "vercel deploy --prod"),
        ("supabase/functions/hello/index.ts", "supabase functions deploy hello"),
        (".github/workflows/release.yml", "gh workflow run release.yml"),
        ("Dockerfile", "gcloud run deploy shop --source ."),
    ],
)
def test_a_file_hints_at_its_command(file: str, command: str) -> None:
    assert commands(file, "README.md", "src/main.py") == [command]


@pytest.mark.parametrize(
    "file",
    [
        "docs/vercel.json",
        "supabase/functions/index.ts",
        "supabase/functions/a/b/index.ts",
        "supabase/functions/--project-ref=evil/index.ts",
        "supabase/functions/$(id)/index.ts",
        "supabase/functions/a b/index.ts",
        ".github/workflows/;id.yml",
        ".github/workflows/-x.yml",
        ".github/workflows/\u202egnp.yml",
        "",
    ],
)
def test_another_place_or_a_name_that_is_not_plain_hints_at_nothing(file: str) -> None:
    assert commands(file) == []


def test_one_command_is_suggested_once() -> None:
    twice = (*DECLARED, ("other", (Deploy(("vercel", "deploy", "--prod"), "now.json"),)))
    found = suggestions(twice, ["now.json", "vercel.json"], "shop")
    assert found == [Suggestion("vercel", ("vercel", "deploy", "--prod"), "vercel.json")]


@given(st.lists(st.text(max_size=20), max_size=5), st.text(max_size=20))
def test_every_word_is_the_declarations_or_plain(parts: list[str], root: str) -> None:
    files = ["/".join(["supabase", "functions", *parts, "index.ts"]), "Dockerfile"]
    own = {word for _, deploys in DECLARED for each in deploys for word in each.command}
    for found in suggestions(DECLARED, files, root):
        assert all(word in own or SAFE_ID.fullmatch(word) for word in found.command)
