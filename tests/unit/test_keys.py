"""The form of a key: minting, typing errors, truncation, digest."""

import re
from hashlib import sha256
from zlib import crc32

import pytest

from readback import keys

FORM = re.compile(r"sk-echo-[0-9A-Za-z]{38}")


def test_a_digest_is_sha_256_of_the_whole_key_and_four_characters_are_shown() -> None:
    key = keys.mint().encode()
    assert keys.digest(key) == sha256(key).digest()
    assert keys.masked("abcd") == "sk-echo-…abcd"


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


@pytest.mark.parametrize("length", range(keys.LENGTH))
def test_the_reason_for_a_truncated_key_mentions_its_length_or_prefix(
    length: int,
) -> None:
    cut = keys.mint().encode()[:length]
    why = str(keys.why_invalid(cut))
    assert "begins with" in why or str(length) in why


def test_a_checksum_is_crc_32_in_base_62() -> None:
    # The alphabet and the order of the digits must never change.
    secret = "sk-echo-" + "0" * 32
    alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    number = crc32(secret.encode())
    digits = ""
    for power in range(5, -1, -1):
        digits += alphabet[number // 62**power % 62]
    assert keys.why_invalid((secret + digits).encode()) is None


def test_no_reason_repeats_the_key() -> None:
    key = keys.mint()
    wrong = [key[:-1], key + "x", key[:-1] + "!", "sk-proj-" + key[8:], key[:20] + "0"]
    for each in wrong:
        assert each not in str(keys.why_invalid(each.encode()))
        assert key[8:20] not in str(keys.why_invalid(each.encode()))
