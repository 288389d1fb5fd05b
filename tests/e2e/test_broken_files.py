"""Files broken at random: each is reported in one line or accounted for unit by unit, and none is changed."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
import zstandard

PAIRS = [
    ("The dog eats {n} eggs.", "Der Hund isst {n} Eier."),
    ("We see <b>two</b> cats", "Wir sehen <b>zwei</b> Katzen"),
    ("Ünïcode, 漢字 and שלום", "Эмодзи 👩\u200d🦰 und \u2028 Zeilen"),
    ('She said "no", twice', 'Sie sagte "nein", zweimal'),
    ("100 % of %s", "100 % von %s"),
] * 4
NASTY = [
    b"\0",
    b"\xff",
    b"\xfe\xff",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    b"\r",
    b"\r\n",
    b"\n",
    b"\n\n",
    b"\t",
    b"\t\t",
    b'"',
    b'""',
    b"{",
    b"}",
    b"[[[[",
    b"\\",
    b"\\u0000",
    b"\\ud800",
    b"<",
    b"</tu>",
    b"<tu>",
    b"&x;",
    b"&#0;",
    b"]]>",
    b"<!--",
    b'<!ENTITY a "b">',
    b"msgid",
    b"msgstr[7]",
    b"#~ ",
    b"#, fuzzy",
    b"\xe2\x80\xa8",
    b"\x0c",
    b"\x1b[31m",
    b"," * 9,
    b";" * 3,
    b"e" * 5000,
]
PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".bz2": bz2.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}
CASES, MANY, CHUNK = 400, 2000, 100  # by `make test`, and by `make test-long` after those


def side(which: int) -> bytes:
    return "".join(f"{pair[which]}\n" for pair in PAIRS).encode()


def po() -> bytes:
    return "".join(f"msgid {json.dumps(s)}\nmsgstr {json.dumps(t)}\n\n" for s, t in PAIRS).encode()


def tmx() -> bytes:
    def seg(text: str) -> str:
        return text.replace("&", "&amp;").replace("<", "&lt;")

    def unit(source: str, target: str) -> str:
        first = f'<tuv xml:lang="en"><seg>{seg(source)}</seg></tuv>'
        return f'<tu>{first}<tuv xml:lang="de-DE"><seg>{seg(target)}<ph x="1">x</ph></seg></tuv></tu>\n'

    units = "".join(unit(source, target) for source, target in PAIRS)
    return f'<?xml version="1.0"?>\n<tmx version="1.4"><header srclang="en"/><body>\n{units}</body></tmx>\n'.encode()


WHOLE: dict[str, dict[str, bytes]] = {
    "aligned": {"a.en": side(0), "a.de": side(1)},
    "tsv": {"a.tsv": "".join(f"{s}\t{t}\n" for s, t in PAIRS).encode()},
    "csv": {"a.csv": "".join('"' + '","'.join(x.replace('"', '""') for x in pair) + '"\n' for pair in PAIRS).encode()},
    "jsonl": {"a.jsonl": "".join(json.dumps({"source": s, "target": t}) + "\n" for s, t in PAIRS).encode()},
    "po": {"a.po": po()},
    "tmx": {"a.tmx": tmx()},
}


def broken(content: bytes, random: Random) -> bytes:
    """One to four wounds: a piece cut out, doubled, moved or flipped, something nasty put in, the end torn off."""
    for _ in range(random.randint(1, 4)):
        at, to = sorted((random.randint(0, len(content)), random.randint(0, len(content))))
        to = min(to, at + random.choice([1, 3, 40, 4000]))
        kind = random.randrange(6)
        piece = content[at:to]
        if kind == 0:
            content = content[:at] + content[to:]
        elif kind == 1:
            content = content[:to] + piece + content[to:]
        elif kind == 2:
            content = content[:at] + bytes(byte ^ (1 << random.randrange(8)) for byte in piece) + content[to:]
        elif kind == 3:
            content = content[:at]
        else:
            content = content[:at] + random.choice(NASTY) * random.choice([1, 1, 1, 50]) + content[at:]
    return content


def make(folder: Path, case: int) -> list[Path]:
    """The files of a case; now and then also packed, and the packed bytes hurt as well."""
    random = Random(case)
    kind = random.choice(list(WHOLE))
    paths = []
    for name, content in WHOLE[kind].items():
        packing = random.choice(["", "", "", *PACKINGS])
        content = PACKINGS[packing](broken(content, random) if random.random() < 0.9 else content)
        path = folder / f"{case}-{name}{packing}"
        path.write_bytes(broken(content, random) if packing and random.random() < 0.4 else content)
        paths.append(path)
    return paths


@pytest.mark.parametrize(
    "first", [*range(0, CASES, CHUNK), *(pytest.param(i, marks=pytest.mark.long) for i in range(CASES, MANY, CHUNK))]
)
def test_broken_files_are_reported_and_left_unchanged(tmp_path: Path, command: Callable[..., Any], first: int) -> None:
    for case in range(first, first + CHUNK):
        paths = make(tmp_path, case)
        before = [path.read_bytes() for path in paths]
        doctor = command("doctor", *paths, "--json")
        out = tmp_path / f"{case}.clean.jsonl"
        clean = command("clean", *paths, "--out", out, "--trim", "--json")
        for outcome in (doctor, clean):
            assert outcome.code in (0, 2), (case, outcome)
            if outcome.code:
                assert outcome.err.startswith("glassformer: "), (case, outcome)
                assert outcome.err.count("\n") == 1, (case, outcome)
        assert doctor.code == clean.code, (case, doctor, clean)
        if not doctor.code:
            found = json.loads(clean.out)
            kept = out.read_bytes().count(b"\n")
            dropped = out.with_name(f"{case}.clean.dropped.jsonl").read_bytes().count(b"\n")
            assert json.loads(doctor.out)["units"] == found["units"] == kept + dropped, case
            assert (found["used"], sum(found["dropped"].values())) == (kept, dropped), case
        assert [path.read_bytes() for path in paths] == before
