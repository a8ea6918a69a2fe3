"""Nothing that hides or reorders letters is shown as it is."""

from styx_core.printable import printable


def test_printable_shows_what_hides() -> None:
    assert printable("rm \u202ex\u200b\x1b\n") == "rm ⟨U+202E⟩x⟨U+200B⟩⟨U+001B⟩⟨U+000A⟩"
    assert printable("pässwörd 日本 x") == "pässwörd 日本 x"
    assert printable("a\u00a0b") == "a⟨U+00A0⟩b"
