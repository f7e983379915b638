"""New keys are well formed, and a mistyped character is noticed."""

import re

from readback import keys

FORM = re.compile(r"sk-echo-[0-9A-Za-z]{38}")


def test_ten_thousand_keys_are_well_formed_and_all_different() -> None:
    minted = [keys.mint() for _ in range(10_000)]
    assert len(set(minted)) == len(minted)
    assert all(FORM.fullmatch(key) for key in minted)
    assert all(keys.why_invalid(key.encode()) is None for key in minted)


def test_every_mistyped_character_is_noticed() -> None:
    key = keys.mint()
    for place in range(len(keys.PREFIX), len(key)):
        for other in ("0", "a", "Z"):
            typo = key[:place] + other + key[place + 1 :]
            if typo != key:
                assert keys.why_invalid(typo.encode()) == (
                    "its checksum does not match, so at least one character is wrong"
                )
