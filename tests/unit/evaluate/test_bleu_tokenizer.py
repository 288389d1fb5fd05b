"""Which of sacreBLEU's tokenizers serves which language, and what it is worth."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

import pytest
from sacrebleu.metrics.bleu import BLEU

from glassformer.evaluate import bleu_tokenizer as module
from glassformer.evaluate.bleu_tokenizer import bleu_tokenizer
from glassformer.evaluate.translation import bleu_and_chrf, corpus_scores

CHINESE = ["今天的天气非常好，我们去公园散步。", "他昨天在北京买了三本书。", "请给我一杯不加糖的热茶。"]
NEARLY = ["今天的天气很好，我们去公园散步。", "他昨天在上海买了三本书。", "请给我一杯不加糖的红茶。"]
JAPANESE = "私は昨日、東京駅の近くの本屋で新しい辞書を買いました。"
KOREAN = "나는 어제 서울역 근처 서점에서 새 사전을 샀습니다."
THAI = "เมื่อวานฉันซื้อพจนานุกรมเล่มใหม่ที่ร้านหนังสือ"


@pytest.fixture(autouse=True)
def _without_mecab(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is installed here: the tests start on a machine without sacreBLEU's extras."""
    installed(monkeypatch, set())


def installed(monkeypatch: pytest.MonkeyPatch, names: set[str]) -> None:
    monkeypatch.setattr(module, "usable", lambda tokenizer: tokenizer in names)


def single(*texts: str) -> list[tuple[str, ...]]:
    return [(text,) for text in texts]


# By language


@pytest.mark.parametrize("code", ["zh", "ZH", "zh-TW", "zh_CN", "zh-Hant-HK", "zho_Hans", "yue", "cmn", " zh "])
def test_chinese_is_cut_into_its_characters(code: str) -> None:
    assert bleu_tokenizer(code, single("x")) == "zh"


@pytest.mark.parametrize("code", ["th", "th-TH", "lo", "km", "khm_Khmr", "my", "bo", "dz"])
def test_languages_without_spaces_are_counted_by_characters(code: str) -> None:
    assert bleu_tokenizer(code, single("x")) == "char"


@pytest.mark.parametrize("code", ["de", "en-GB", "ru", "ar", "hi", "vi", "jv", "zu", "kok", "tgt", "", None])
def test_13a_serves_all_others(code: str | None) -> None:
    assert bleu_tokenizer(code, single("Der Hund isst Brot.")) == "13a"


@pytest.mark.parametrize(
    ("code", "tokenizer", "without"),
    [("ja", "ja-mecab", "char"), ("jpn", "ja-mecab", "char"), ("ko_KR", "ko-mecab", "13a")],
)
def test_mecab_is_used_where_it_is_installed(
    monkeypatch: pytest.MonkeyPatch, code: str, tokenizer: str, without: str
) -> None:
    assert bleu_tokenizer(code, single("x")) == without
    installed(monkeypatch, {tokenizer})
    assert bleu_tokenizer(code, single("x")) == tokenizer


# By script


@pytest.mark.parametrize("code", [None, "tgt", "txt"])
def test_the_script_decides_where_the_code_does_not(monkeypatch: pytest.MonkeyPatch, code: str | None) -> None:
    installed(monkeypatch, {"ja-mecab", "ko-mecab"})
    assert bleu_tokenizer(code, single(*CHINESE)) == "zh"
    assert bleu_tokenizer(code, single(JAPANESE)) == "ja-mecab"
    assert bleu_tokenizer(code, single(KOREAN)) == "ko-mecab"
    for text in (THAI, "ເມື່ອວານຂ້ອຍຊື້ປຶ້ມ", "ម្សិលមិញខ្ញុំបានទិញសៀវភៅ", "မနေ့ကစာအုပ်ဝယ်ခဲ့တယ်", "ཁ་སང་ངས་དཔེ་ཆ་ཉོས།"):
        assert bleu_tokenizer(code, single(text)) == "char"
    for text in ("Вчера я купил книгу.", "कल मैंने एक किताब खरीदी।", "اشتريت كتابا أمس.", "12 + 30", "🙂", ""):
        assert bleu_tokenizer(code, single(text)) == "13a"


def test_the_larger_part_of_the_letters_decides() -> None:
    assert bleu_tokenizer(None, single("他用iPhone拍照，在公园里和朋友们见面。")) == "zh"
    assert bleu_tokenizer(None, single("The sign says 出口, which means exit.")) == "13a"
    assert bleu_tokenizer(None, single(*CHINESE * 4, "那首歌叫さくら。")) == "zh"  # a Japanese name in Chinese text
    assert bleu_tokenizer(None, [("Zwei", "他昨天在北京买了三本书。"), ("我们去公园散步。",)]) == "zh"


# What it is worth


def test_nearly_right_chinese_is_worth_something() -> None:
    with_13a = BLEU().corpus_score(NEARLY, [CHINESE]).score
    assert with_13a < 1
    for language in ("zh", None):
        bleu, _ = bleu_and_chrf(NEARLY, single(*CHINESE), language=language)
        assert 60 < bleu < 90
        score = corpus_scores(NEARLY, single(*CHINESE), language=language, resamples=20)[0]
        assert score.value == bleu
        assert "tok:zh" in score.signature


def test_nearly_right_thai_and_japanese_too() -> None:
    for text in (THAI, JAPANESE):
        nearly = text.replace("ใหม่", "เก่า").replace("新しい", "古い")
        assert nearly != text
        assert BLEU().corpus_score([nearly], [[text]]).score < 1
        score = corpus_scores([nearly], single(text), resamples=20)[0]
        assert 50 < score.value < 99
        assert "tok:char" in score.signature


def test_the_language_alone_changes_neither_chrf_nor_exact_match() -> None:
    hypotheses, references = ["der Hund isst"], single("der Hund frisst")
    plain, told = (corpus_scores(hypotheses, references, language=code, resamples=20) for code in ("de", "zh"))
    assert plain[1:] == told[1:]
    assert "tok:13a" in plain[0].signature
    assert "tok:zh" in told[0].signature


# The packages


def test_without_its_packages_a_tokenizer_is_not_usable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    japanese = importlib.import_module("sacrebleu.tokenizers.tokenizer_ja_mecab")
    monkeypatch.setattr(japanese, "MeCab", None)
    module.usable.cache_clear()
    assert not module.usable("ja-mecab")
    assert module.usable("zh")
    assert bleu_tokenizer("ja", single(JAPANESE)) == "char"
    module.usable.cache_clear()


def test_a_dictionary_that_is_not_sacrebleus_is_not_usable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()

    class Other:
        def __init__(self, _: str) -> None: ...

        def dictionary_info(self) -> object:
            return type("Info", (), {"size": 7, "next": None})

    mecab, ipadic = ModuleType("MeCab"), ModuleType("ipadic")
    monkeypatch.setattr(mecab, "Tagger", Other, raising=False)
    monkeypatch.setattr(ipadic, "MECAB_ARGS", "", raising=False)
    japanese = importlib.import_module("sacrebleu.tokenizers.tokenizer_ja_mecab")
    monkeypatch.setattr(japanese, "MeCab", mecab)
    monkeypatch.setattr(japanese, "ipadic", ipadic, raising=False)
    module.usable.cache_clear()
    assert not module.usable("ja-mecab")
    module.usable.cache_clear()


def test_the_real_mecab_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    module.usable.cache_clear()
    if not module.usable("ja-mecab"):
        pytest.skip("MeCab for Japanese is not installed (pip install sacrebleu[ja])")
    score = corpus_scores([JAPANESE], single(JAPANESE), resamples=20)[0]
    assert "tok:ja-mecab" in score.signature
    assert "MeCab" in sys.modules
